export * from '../stored-text.ts'
