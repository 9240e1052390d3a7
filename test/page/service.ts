import { startService as startRunning, documentFor, token } from '../service/running-service.ts'
import { TestEndpoint } from '../support/endpoint.ts'

export { token }

/** A service with deliveries that an endpoint took, refused, or has to be asked for again. */
export async function startService(
  answers: Parameters<typeof TestEndpoint.start>,
  given: Parameters<typeof documentFor>[1] = {},
) {
  const endpoint = await TestEndpoint.start(...answers)
  const document = documentFor(endpoint, given)
  const running = await startRunning(document)
  const { admin } = running.service.address
  return {
    ...running,
    endpoint,
    document,
    /** The page, before anyone signed in. */
    page: `${admin ?? ''}/_evroute/`,
    /** A link that opens it once. */
    link: (): string => running.service.signInLink() ?? '',
  }
}
