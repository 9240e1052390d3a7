// Given to Node with --import: a thread runs the sources as they are. Tests themselves need no help.
import { register } from 'node:module'
import { isMainThread } from 'node:worker_threads'

if (!isMainThread) register('./typescript-hooks.js', import.meta.url)
