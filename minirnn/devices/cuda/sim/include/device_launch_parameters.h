// Everything that this header declares for kernels is in cusim.h, which is always included.
#pragma once
