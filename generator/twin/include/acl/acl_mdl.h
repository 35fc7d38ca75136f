/* Present because acl.h includes it; nothing in it is offered here. */
#ifndef ACL_MDL_H
#define ACL_MDL_H
#include "acl_base.h"
#endif /* ACL_MDL_H */
