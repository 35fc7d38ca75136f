"""What is equal for all sizes is proved and its certificate passes the check; what is not equal is never proved."""

from __future__ import annotations

import pytest

from generator.spec.integer import sym
from generator.symbolic.certificate import Certificate, Identity, Induction, Proved, Unknown
from generator.symbolic.check import check
from generator.symbolic.prove import Budget, prove
from tests.symbolic.equal import formula, prove_equal

SOFTMAX = "a[t,j]=exp(x[t,j])/sum[k](exp(x[t,k]))\n"

EQUAL = {
    "a factor leaves its sum": ("g[t,j]=sum[k](x[t,k]*y[t,j])", "g[t,j]=y[t,j]*sum[l](x[t,l])"),
    "sums change places": ("g[t,j]=sum[i,k](x[i,k]*w[k,j])", "g[t,j]=sum[k](w[k,j]*sum[i](x[i,k]))"),
    "softmax sums to one": ("g[t,j]=y[t,j]*sum[k](exp(x[t,k])/sum[l](exp(x[t,l])))", "g[t,j]=y[t,j]"),
    "softmax does not see a shift": (
        "m[t]=max[j](x[t,j])\na[t,j]=exp(x[t,j]-m[t])\ng[t,j]=a[t,j]/sum[k](a[t,k])",
        SOFTMAX + "g[t,j]=a[t,j]",
    ),
    "the gradient of softmax in two forms": (
        SOFTMAX + "g[t,j]=a[t,j]*(y[t,j]-sum[k](y[t,k]*a[t,k]))",
        SOFTMAX + "s[t]=sum[j](a[t,j]*y[t,j])\ng[t,j]=a[t,j]*y[t,j]-a[t,j]*s[t]",
    ),
    "a root of a mean eliminates its moment": (
        "s[t]=rsqrt(mean[j](x[t,j]*x[t,j])+eps)\ng[t,j]=x[t,j]*s[t]**2*(sum[k](square(x[t,k]))/n+eps)",
        "g[t,j]=x[t,j]",
    ),
    "variance in two forms": (
        "m[t]=mean[j](x[t,j])\ns[t]=mean[j](square(x[t,j]-m[t]))\ng[t,j]=x[t,j]*s[t]",
        "m[t]=mean[j](x[t,j])\ns[t]=mean[j](square(x[t,j]))-m[t]*m[t]\ng[t,j]=s[t]*x[t,j]",
    ),
    "tanh by sigmoid": ("g[t,j]=1-tanh(x[t,j])**2", "g[t,j]=4*sigmoid(2*x[t,j])*sigmoid(-2*x[t,j])"),
    "a stable softplus": ("g[t,j]=log1p(exp(-abs(x[t,j])))+maximum(x[t,j],0)", "g[t,j]=softplus(x[t,j])"),
    "log-sum-exp in an exponent": ("g[t,j]=exp(x[t,j]-log(sum[k](exp(x[t,k]))))", SOFTMAX + "g[t,j]=a[t,j]"),
    "gates inside a sum": (
        "g[t,j]=sum[k](y[t,k]*sigmoid(x[t,k])*(1-sigmoid(x[t,k])))",
        "g[t,j]=sum[k](y[t,k]*exp(x[t,k])/(1+exp(x[t,k]))**2)",
    ),
    "a clamp by two comparisons": (
        "g[t,j]=where(x[t,j]>-1 and x[t,j]<1,y[t,j],0)",
        "g[t,j]=y[t,j]*(where(x[t,j]<1,1,0)-where(x[t,j]<-1,1,0))",
    ),
    "a mask and what it leaves out": (
        "g[t,j]=sum[k](where(k>=j,y[t,k],0))",
        "g[t,j]=sum[k](y[t,k])-sum[k](where(k<j,y[t,k],0))",
    ),
    "a sum with a delta": ("g[t,j]=sum[k](where(k==j,y[t,k],0))", "g[t,j]=y[t,j]"),
    "a running sum by a loop": (
        "c[j]=0\nfor r in range(0,T):\n    c[j]=c[j]+x[r,j]\n    g[r,j]=c[j]",
        "g[t,j]=sum[i](where(i<=t,x[i,j],0))",
    ),
    "a recurrence in two forms": (
        "h[0,j]=x[0,j]\nfor r in range(1,T):\n    h[r,j]=tanh(x[r,j]+sum[k](w[j,k]*h[r-1,k]))\ng[t,j]=h[t,j]",
        "b[0,j]=x[0,j]\nfor r in range(1,T):\n    b[r,j]=2*sigmoid(2*(x[r,j]+sum[k](w[j,k]*b[r-1,k])))-1\ng[t,j]=b[t,j]",
    ),
    "a carried state in two forms": (
        "c[j]=0\nfor r in range(0,T):\n    c[j]=tanh(x[r,j]+sum[k](w[j,k]*c[k]))\ng[t,j]=c[j]",
        "d[j]=0\nfor r in range(0,T):\n    z[j]=sum[k](w[j,k]*d[k])+x[r,j]\n    d[j]=2*sigmoid(2*z[j])-1\ng[t,j]=d[j]",
    ),
    "one comparison implies another": ("g[t,j]=where(x[t,j]>0,1,0)*where(x[t,j]>1,1,0)", "g[t,j]=where(x[t,j]>1,1,0)"),
    "the sign of a product": (
        "g[t,j]=where(x[t,j]*y[t,j]>0,1,0)",
        "g[t,j]=where(x[t,j]>0,1,0)*where(y[t,j]>0,1,0)+where(x[t,j]<0,1,0)*where(y[t,j]<0,1,0)",
    ),
    "a comparison of an exponential": ("g[t,j]=where(exp(x[t,j])>1,1,0)", "g[t,j]=where(x[t,j]>0,1,0)"),
    "a tensor that a loop sets anew": ("c[j]=u[j]\nfor r in range(0,T):\n    c[j]=x[r,j]\ng[t,j]=c[j]", "g[t,j]=x[T-1,j]"),
    "a count that an empty range leaves right": ("g[t,j]=sum[k](where(k>=1,1,0))", "g[t,j]=n-1"),
    "a square of an absolute value": ("g[t,j]=abs(x[t,j])*abs(x[t,j])", "g[t,j]=x[t,j]**2"),
}

# what is wrong, though it is right at the sizes or values in brackets
DIFFERENT = {
    "a sign": (SOFTMAX + "g[t,j]=a[t,j]*(y[t,j]+sum[k](y[t,k]*a[t,k]))", SOFTMAX + "g[t,j]=a[t,j]*(y[t,j]-sum[k](y[t,k]*a[t,k]))"),
    "a missing weight [1]": ("g[t,j]=u[j]*y[t,j]", "g[t,j]=y[t,j]"),
    "a factor n that is n at 1 to 3 only": ("g[t,j]=n*y[t,j]", "g[t,j]=y[t,j]*(n+(1-n)*(2-n)*(3-n)/6)"),
    "a sum that stops at the ninth [n <= 9]": ("g[t,j]=sum[k](y[t,k])", "g[t,j]=sum[k](where(k<9,y[t,k],0))"),
    "a mean by n-1": ("g[t,j]=sum[k](y[t,k])/n", "g[t,j]=sum[k](y[t,k])/(n-1)"),
    "another axis of the same extent": ("g[t,j]=sum[k](w[j,k]*y[t,k])", "g[t,j]=sum[k](w[k,j]*y[t,k])"),
    "sums over axes of different extents [n = T]": ("g[t,j]=sum[k](1)", "g[t,j]=sum[i](1)"),
    "a square root of a square [x >= 0]": ("g[t,j]=sqrt(x[t,j]**2)", "g[t,j]=x[t,j]"),
    "two roots of factors of unknown sign": ("g[t,j]=sqrt(x[t,j]*y[t,j])*sqrt(x[t,j])", "g[t,j]=x[t,j]*sqrt(y[t,j])+0*eps"),
    "log of a square [x > 0]": ("g[t,j]=log(x[t,j]**2)", "g[t,j]=2*log(x[t,j])*where(x[t,j]>0,1,2)"),
    "eps inside the root [eps = 0]": ("g[t,j]=rsqrt(x[t,j]**2+eps)", "g[t,j]=1/(sqrt(x[t,j]**2)+eps)"),
    "beta left out [1]": ("g[t,j]=sigmoid(beta*x[t,j])", "g[t,j]=sigmoid(x[t,j])"),
    "a flat region that counts": ("g[t,j]=where(relu(x[t,j])>0,y[t,j],0)", "g[t,j]=where(relu(x[t,j])>=0,y[t,j],0)"),
    "an inverted mask": ("g[t,j]=sum[k](where(k>=j,y[t,k],0))", "g[t,j]=sum[k](where(k<=j,y[t,k],0))"),
    "an exclusive bound": ("g[t,j]=sum[k](where(k>=j,y[t,k],0))", "g[t,j]=sum[k](where(k>j,y[t,k],0))"),
    "x > 30 only": ("g[t,j]=y[t,j]", "g[t,j]=y[t,j]+where(x[t,j]>30,x[t,j]-30,0)"),
    "a loop that starts otherwise": (
        "c[j]=0\nfor r in range(0,T):\n    c[j]=x[r,j]*c[j]+1\ng[t,j]=c[j]",
        "d[j]=1\nfor r in range(0,T):\n    d[j]=x[r,j]*d[j]+1\ng[t,j]=d[j]",
    ),
    "a loop that runs once less": (
        "c[j]=0\nfor r in range(0,T):\n    c[j]=x[r,j]*c[j]+1\ng[t,j]=c[j]",
        "d[j]=0\nfor r in range(1,T):\n    d[j]=x[r,j]*d[j]+1\ng[t,j]=d[j]",
    ),
    "a loop wrong from its sixth iteration": (
        "c[j]=0\nfor r in range(0,T):\n    c[j]=x[r,j]*c[j]+1\ng[t,j]=c[j]",
        "d[j]=0\nfor r in range(0,T):\n    d[j]=x[r,j]*d[j]+where(r>=6,2,1)\ng[t,j]=d[j]",
    ),
    "a loop the other way round": (
        "c[j]=0\nfor r in range(0,T):\n    c[j]=x[r,j]*c[j]+1\ng[t,j]=c[j]",
        "d[j]=0\nfor r in range(T-1,-1,-1):\n    d[j]=x[r,j]*d[j]+1\ng[t,j]=d[j]",
    ),
    "the sign of a product by one case": ("g[t,j]=where(x[t,j]*y[t,j]>0,1,0)", "g[t,j]=where(x[t,j]>0,1,0)*where(y[t,j]>0,1,0)"),
    "loops from different values": (
        "c[j]=u[j]\nfor r in range(0,T):\n    c[j]=c[j]*x[r,j]\ng[t,j]=c[j]",
        "d[j]=2*u[j]\nfor r in range(0,T):\n    d[j]=d[j]*x[r,j]\ng[t,j]=d[j]",
    ),
    "a count that is wrong at n = 1": ("g[t,j]=sum[k](where(k>=2,1,0))", "g[t,j]=n-2"),
    "half of the places [n even]": ("g[t,j]=sum[k](where(2*k<n,1,0))", "g[t,j]=n/2"),
    "another period": ("g[t,j]=sum[k](where(k%3==0,y[t,k],0))", "g[t,j]=sum[k](where(k%2==0,y[t,k],0))"),
    "a comparison that always holds": (
        "g[t,j]=where(sin(x[t,j])**2+cos(x[t,j])**2>=1,1,0)",
        "g[t,j]=where(sin(x[t,j])**2+cos(x[t,j])**2>1,1,0)",
    ),
    "an attribute's boundary": ("g[t,j]=where(beta>0,1,0)", "g[t,j]=where(beta>=0,1,0)"),
    "a maximum over the other axis": ("g[t,j]=max[k](x[t,k])", "g[t,j]=max[i](x[i,j])"),
    "infinities that cancel": (
        "a[t,j]=where(x[t,j]>0,y[t,j],inf)\ng[t,j]=a[t,j]-where(x[t,j]>0,0,inf)",
        "g[t,j]=where(x[t,j]>0,y[t,j],0)",
    ),
}


@pytest.mark.parametrize("name", EQUAL)
def test_equal_formulas_are_proved_and_their_certificates_pass(name: str) -> None:
    found = prove_equal(*EQUAL[name])
    assert isinstance(found, Proved), found


@pytest.mark.parametrize("name", DIFFERENT)
def test_different_formulas_are_not_proved_and_no_certificate_passes_for_them(name: str) -> None:
    left, right = DIFFERENT[name]
    assert isinstance(prove_equal(left, right), Unknown)
    assert isinstance(prove_equal(right, left), Unknown)
    pairs = tuple((f"A0.{x}", f"B0.{y}") for x in "c" for y in "d")
    for inductions in ((), (Induction(pairs),)):
        for adders in ((), ("A0.c", "B0.d")):
            forged = Certificate((Identity("g", "g"),), inductions, accumulators=adders)
            assert not check(forged, formula(left), formula(right), [("g", "g")], [sym("n") - 1, sym("T") - 1])


def test_a_boundary_of_a_piecewise_formula_is_named() -> None:
    found = prove_equal("g[t,j]=where(x[t,j]>0,y[t,j],0)", "g[t,j]=where(x[t,j]>=0,y[t,j],0)")
    assert isinstance(found, Proved)
    assert len(found.certificate.boundaries) == 1
    assert "x[" in found.certificate.boundaries[0]


def test_a_divisor_that_must_not_vanish_is_named() -> None:
    found = prove_equal("g[t,j]=x[t,j]*y[t,j]/x[t,j]", "g[t,j]=y[t,j]")
    assert isinstance(found, Proved)
    assert len(found.certificate.nonzero) == 1


def test_a_certificate_proves_only_the_outputs_it_names() -> None:
    a = formula("g[t,j]=x[t,j]")
    assert not check(Certificate(()), a, a, [("g", "g")])
    assert check(Certificate((Identity("g", "g"),)), a, a, [("g", "g")])


def test_an_empty_sum_may_not_be_divided_out_unless_no_tensor_is_empty() -> None:
    left, right = "g[t,j]=sum[k](where(k<n,1,0))*y[t,j]", "g[t,j]=n*y[t,j]"
    assert isinstance(prove_equal(left, right), Proved)


def test_the_budget_bounds_a_proof() -> None:
    a = formula("g[t,j]=" + "*".join(f"(x[t,j]+{k}*y[t,j]+{k + 1}*exp(x[t,j])+sum[k](w[j,k]*{k + 1}))" for k in range(14)))
    found = prove(a, formula("g[t,j]=x[t,j]"), [("g", "g")], None, Budget(1.0))
    assert isinstance(found, Unknown)


def test_deep_nesting_is_answered_and_not_a_crash() -> None:
    a = formula("g[t,j]=" + "exp(" * 150 + "x[t,j]" + ")" * 150)
    assert isinstance(prove(a, formula("g[t,j]=x[t,j]"), [("g", "g")], None, Budget(5.0)), Unknown)
