import chromium from '@sparticuz/chromium'

/**
 * Unpacks the browser before any test file runs, because if two files unpacked it at the same time, neither could
 * start it.
 */
export async function setup(): Promise<void> {
  await chromium.executablePath()
}
