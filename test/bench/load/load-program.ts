// Accepts and delivers events with the real pipeline and store, in its own process.
import { answerQuestions } from '../program.ts'
import type { Load } from './load.ts'
import { LoadRun } from './load-run.ts'

answerQuestions((load: Load) => new LoadRun(load).measure())
