import { setFlagsFromString } from 'node:v8'

/**
 * Has garbage collected when the heap is half as large again as what lives in it. Left to itself V8 waits
 * until it is four times as large, and everything that streams by is garbage soon: replaying a hundred
 * thousand calls would take 180 MB instead of 130, for an eighth less of CPU.
 */
export function collectEarly(): void {
  // V8 asks for this one whenever it has collected, so that it may be set while the process runs.
  setFlagsFromString('--heap-growing-percent=50')
}
