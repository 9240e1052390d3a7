// The limit: an app that parses and answers, and stores nothing.
import { serveBareApp } from './bare-app.ts'

serveBareApp((_, answer) => answer())
