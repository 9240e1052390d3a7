export { AnswerHandler, type Answer } from '../http/index.ts'
