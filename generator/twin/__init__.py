"""The CPU twin: C++ headers, build, launch and checks."""
