/** What the commands are made of: the rooms below, put together. */
export * from './pipeline.ts'
export * from './configuration/index.ts'
