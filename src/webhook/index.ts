/** What is sent to an endpoint: body, signature, request and verdict. */
export * from './signature.ts'
