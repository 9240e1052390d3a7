// Puts the command together in a few files, of the modules in `dist`: to find, read and compile one takes
// Node about half a millisecond, and to send needs a hundred of them. They are CommonJS, because to start
// its loader of ES modules takes Node longer than all that `--version` needs. Who imports the library gets
// the modules as they are.
import { isAbsolute } from 'node:path'
import { build } from 'rolldown'

await build({
  input: {
    index: 'dist/cli/index.js',
    // A program of its own, which is looked for beside the file that starts it.
    'store-thread': 'dist/store/threaded/store-thread.js',
  },
  // Packages stay packages, so that users get their patches without waiting for our release.
  external: isPackage,
  platform: 'node',
  output: {
    dir: 'dist/command',
    format: 'cjs',
    comments: false,
    entryFileNames: '[name].cjs',
    chunkFileNames: '[name].cjs',
    codeSplitting: {
      // What these import is always loaded together. All else is parted by who needs it.
      groups: [
        { name: 'start', test: /cli[\\/]index\.js$/ },
        { name: 'send', test: /cli[\\/](?:program|commands[\\/]send)\.js$/ },
      ],
    },
  },
})

function isPackage(id) {
  return !id.startsWith('.') && !id.startsWith('\0') && !isAbsolute(id)
}
