/** The small SQL port that audiences and regulations are written on, once for both engines. */
export { givenRows, type Dialect } from './dialect.ts'
export {
  firstRow,
  rowsOf,
  run,
  scriptOf,
  type Query,
  type Script,
  type SqlDatabase,
  type SqlValue,
} from './script.ts'
