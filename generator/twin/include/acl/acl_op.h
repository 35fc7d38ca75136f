/* Present because acl.h includes it; nothing in it is offered here. */
#ifndef ACL_OP_H
#define ACL_OP_H
#include "acl_base.h"
#endif /* ACL_OP_H */
