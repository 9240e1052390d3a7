// Bundles the command line into a few files. Node needs about half a millisecond to find, read and compile a module,
// and sending needs a hundred of them. The files are CommonJS, because starting Node's loader of ES modules takes
// longer than all of `--version`. Programs that import the library get the modules unbundled.
import { isAbsolute } from 'node:path'
import { build } from 'rolldown'

await build({
  input: {
    index: 'dist/cli/index.js',
    // Separate programs: the files that start them expect them in the same folder.
    'store-thread': 'dist/store/threaded/store-thread.js',
    'sender-thread': 'dist/webhook/threads/sender-thread.js',
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
      // Everything that these files import is loaded together. The bundler derives the other chunks from the imports.
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
