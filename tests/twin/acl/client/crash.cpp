// What a device would not survive either.
#include "check.h"

TEST(the_host_writes_to_device_memory) {
  Device device;
  static_cast<volatile int *>(device.Room(16))[0] = 1;
}
