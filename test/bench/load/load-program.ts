// Takes events in and delivers them with the pipeline and the store of production, in a process of its own.
import { answerQuestions } from '../program.ts'
import type { Load } from './load.ts'
import { LoadRun } from './load-run.ts'

answerQuestions((load: Load) => new LoadRun(load).measure())
