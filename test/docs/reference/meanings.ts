/** What a field means in most records, for fields without a doc comment in the code. */
const usual: Readonly<Record<string, string>> = {
  at: 'When it happened.',
  audience: 'The audience after the change.',
  class: 'Whether it is an audience or a computed trait.',
  code: 'The stable name of the reason.',
  createdAt: 'When it was created.',
  deliveries: 'The number of deliveries.',
  destination: 'The id of the destination.',
  dryRun: 'True if nothing was changed.',
  enabled: 'Whether events are sent to it.',
  id: 'Identifies it.',
  inspector: 'The URL of the page; null if there is none.',
  members: 'The number of members.',
  message: 'The reason in words.',
  messageId: 'The messageId of the event.',
  ms: 'How long it took, in milliseconds.',
  next: 'The cursor of the next page; null on the last page.',
  pid: 'The id of the process.',
  regulationType: 'The type of the regulation.',
  source: 'The id of the source.',
  subjects: 'The number of users.',
  type: 'The type of the call, or `delete`.',
  url: 'The URL.',
}

/** What a field means in the records of one kind. */
const ofKind: Readonly<Record<string, string>> = {
  'audience.syncedAt': 'When the last complete sync ended; null if none has.',
  'audiences.audiences': 'Each has the fields of an `audience`.',
  'audit.balanced': 'Whether all equations hold.',
  'audit.imbalances': 'The equations that do not hold, and by how much.',
  'change.anonymousId': 'The anonymous id; null if the member has none.',
  'change.userId': 'The id of the user; null if the member has none.',
  'change.value':
    'In an audience, true. In a computed trait, the value of the member. Null if the member leaves.',
  'comparing.members': 'The stored members that were read so far.',
  'deliveries.deliveries': 'The newest first.',
  'delivery.acceptedAt': 'When the event was accepted; never null.',
  'delivery.attempts': 'The number of rounds.',
  'delivery.dueAt': 'When the next round is due; null unless the delivery is pending.',
  'delivery.expiresAt': 'When the retry window ends; null before the first failed round.',
  'delivery.firstAttemptAt':
    'When the first round in the current retry window started; null until a retry is scheduled.',
  'delivery.holds':
    'Endpoints that get no requests for the delivery until the time `until`, or for good if it is null.',
  'delivery.id': '`<destination>/<number>`.',
  'delivery.manualRetries': 'The number of manual retries.',
  'delivery.settledAt': 'When the delivery ended; null while it is pending.',
  'delivery.state': 'How it ended.',
  'destination.id': 'The id of the destination.',
  'destinations.destinations': 'The configured destinations.',
  'discard.deliveries': 'The number of discarded deliveries.',
  'error.code': 'The stable name of the error.',
  'event.at': 'When the request arrived.',
  'event.body': 'The parsed body; null if the request is malformed.',
  'event.code': 'Why the request is malformed; null for a webhook.',
  'event.forward': 'How forwarding ended; null if the request was not forwarded.',
  'event.rawBase64': 'The bytes of the body, in base64.',
  'event.seq': 'The number of the request, from 1.',
  'event.type': 'The type of the webhook; null if the request is malformed.',
  'event.userId':
    'The id of the user; for an alias, the new id. Null if the body has no user id, or the request is malformed.',
  'expectation.state': 'Whether it was met in time.',
  'init.config': 'The path of the configuration.',
  'init.files': 'The paths of all files.',
  'migrated.figures': 'The figures that differ, in the old and in the new store.',
  'migrated.outcome': 'How the migration ended; `planned` for a dry run.',
  'overview.latency':
    'Milliseconds from acceptance to a 2xx answer, over the last 1,000 deliveries of this process.',
  'overview.ledger': 'The counts of the store, as in a `ledger`.',
  'overview.minutes': 'What this process did in the last hour, the oldest minute first.',
  'overview.oldestDueAt':
    'The earliest due time of pending deliveries that are not in flight. Null if there are none, or if a different process measures the store.',
  'overview.problems': 'The current problems, most severe first.',
  'plan.notifications': 'How many delete notifications would be sent.',
  'plan.reason': 'Why it is sent or not; null for a call to a service.',
  'plan.regulations': 'How many regulations would be made.',
  'plan.send': 'Whether it would be sent.',
  'ready.cases': 'How many webhooks are sent.',
  'ready.url': 'The URL of the handler.',
  'regulation.finishedAt': 'When all of its work was done; null until then.',
  'regulation.overallStatus': 'How far it is.',
  'regulation.streamStatus': 'The notifications from each source to each destination.',
  'regulation.subjectType': 'The kind of ids that it lists.',
  'regulations.regulations': 'The newest first.',
  'removal.outcome': 'How the removal ended.',
  'replay.deliveries': 'The deliveries that were made for them.',
  'request.at': 'When the request started.',
  'request.url': 'The URL of the endpoint.',
  'retry.deliveries': 'The number of deliveries that are due again.',
  'scenario.answers': 'How many requests got each answer.',
  'scenario.complaints': 'What was not as expected.',
  'scenario.holds': 'Whether everything was as expected.',
  'scenario.name': 'The name of the scenario.',
  'scenario.requests': 'The number of requests that arrived.',
  'scenario.states': 'How many deliveries ended in each state.',
  'signature.signature': 'The value of X-Signature.',
  'sources.sources': 'The configured sources.',
  'sources.url': 'The URL that sources send to.',
  'story.delivery': 'The delivery.',
  'story.requests': 'Its requests, oldest first.',
  'summary.expectations': 'The results of all expectations.',
  'summary.notSent': 'Cases that were not sent.',
  'summary.right': 'Cases in which the handler reacted correctly.',
  'summary.skipped': 'Rows that were skipped.',
  'summary.wrong': 'Cases in which it did not.',
  'sync.outcome': 'How the sync ended.',
  'test.id': 'The id of the destination.',
  'verification.diagnosis': 'A likely mistake, and its fix; null if none is known.',
  'verification.reason': 'Why it is not valid; null if it is.',
  'verification.valid': 'Whether the signature fits the body.',
  'view.read': 'The number of requests in the file.',
  'view.shown': 'The number of requests that the page shows.',
}

/**
 * What a field means in records of this kind.
 *
 * @throws Error for a field that is not listed here
 */
export function meaningOf(kind: string, field: string): string {
  const meaning = ofKind[`${kind}.${field}`] ?? usual[field]
  if (meaning !== undefined) return meaning
  throw new Error(
    `Cannot document ${field} of "${kind}": give its declaration a doc comment, or add it to test/docs/reference/meanings.ts`,
  )
}
