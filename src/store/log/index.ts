/** What the log shows of deliveries and requests, read once for both engines. */
export { firstTriesOf } from './first-tries.ts'
export {
  loggedColumns,
  loggedDelivery,
  progressOf,
  type LoggedRow,
  type ProgressRow,
} from './logged-delivery.ts'
export { storyOf } from './story.ts'
