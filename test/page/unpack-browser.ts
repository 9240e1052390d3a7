import chromium from '@sparticuz/chromium'

/**
 * Unpacks the browser before any test file runs. Two files that unpack it at the same time write one
 * program, and neither can start it meanwhile.
 */
export async function setup(): Promise<void> {
  await chromium.executablePath()
}
