// Given to Node with --import: lets it run the sources as they are.
import { register } from 'node:module'

register('./typescript-hooks.js', import.meta.url)
