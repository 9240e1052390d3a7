import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { snippets, type SnippetLanguage } from '../../../src/receiver/index.ts'
import { TestProcess } from '../../support/binary.ts'
import { freePort } from '../../support/free-port.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

/** How to run the snippet of a language. */
interface Running {
  /** Whether this machine has the runtime it needs. */
  readonly isThere: () => boolean
  readonly file: string
  /** Other files in its folder, by name. */
  readonly beside?: Readonly<Record<string, string>>
  /** The folder of the packages it imports. */
  readonly modules?: string
  /** The program and its arguments. */
  readonly command: (folder: string, port: number) => readonly [string, ...string[]]
  /** Whether it is given a free port, instead of choosing one and printing it. */
  readonly needsPort?: boolean
}

/** Packages for Node handlers: those of the benches include them. */
const moduleFolders = ['../../../node_modules', '../../bench/node_modules'].map((folder) =>
  fileURLToPath(new URL(folder, import.meta.url)),
)

/** Prints the port that the server listens on. */
const nodePreload = `
import { Server } from 'node:net'
const { listen } = Server.prototype
Server.prototype.listen = function (...parameters) {
  this.once('listening', () => console.log('ready', this.address().port))
  return listen.apply(this, parameters)
}
`

const pythonDriver = `
import runpy, socketserver, sys
activate = socketserver.TCPServer.server_activate
def activate_and_tell(server):
    activate(server)
    print("ready", server.server_address[1], flush=True)
socketserver.TCPServer.server_activate = activate_and_tell
runpy.run_path(sys.argv[1], run_name="__main__")
`

const goReady = `package main

import (
	"fmt"
	"net"
	"os"
	"time"
)

func init() {
	go func() {
		for {
			connection, err := net.Dial("tcp", "127.0.0.1:"+os.Getenv("PORT"))
			if err == nil {
				connection.Close()
				fmt.Println("ready", os.Getenv("PORT"))
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
	}()
}
`

/** Calls a Rack application with each request, as Rack servers do. */
const rubyDriver = `
require 'socket'
require 'stringio'
def run(application) = $application = application
load ARGV[0]
server = TCPServer.new('127.0.0.1', 0)
puts "ready #{server.addr[1]}"
$stdout.flush
loop do
  connection = server.accept
  connection.gets
  headers = {}
  while (line = connection.gets.chomp) != ''
    name, value = line.split(': ', 2)
    headers[name.downcase] = value
  end
  body = connection.read(headers['content-length'].to_i)
  environment = { 'rack.input' => StringIO.new(body), 'HTTP_X_SIGNATURE' => headers['x-signature'] }
  status, = $application.call(environment)
  connection.write("HTTP/1.1 #{status} Status\\r\\nContent-Length: 0\\r\\nConnection: close\\r\\n\\r\\n")
  connection.close
end
`

const running: Readonly<Record<SnippetLanguage, Running>> = {
  node: node(),
  express: node('express'),
  fastify: node('fastify'),
  hono: node('hono', '@hono/node-server'),
  go: {
    isThere: () => hasProgram('go', 'version'),
    file: 'app.go',
    beside: { 'ready.go': goReady },
    command: (folder) => ['go', 'run', join(folder, 'app.go'), join(folder, 'ready.go')],
    needsPort: true,
  },
  python: {
    isThere: () => hasProgram('python3', '--version'),
    file: 'app.py',
    command: (folder) => ['python3', '-c', pythonDriver, join(folder, 'app.py')],
  },
  php: {
    isThere: () => hasProgram('php', '--version'),
    file: 'app.php',
    command: (folder, port) => ['php', '-S', `127.0.0.1:${port}`, join(folder, 'app.php')],
    needsPort: true,
  },
  ruby: {
    isThere: () => hasProgram('ruby', '--version'),
    file: 'app.rb',
    command: (folder) => ['ruby', '-e', rubyDriver, join(folder, 'app.rb')],
  },
}

/** Whether the handler of a language can run on this machine. */
export function canRun(language: SnippetLanguage): boolean {
  return running[language].isThere()
}

/** Runs the printed handler in its own process until the test ends. */
export async function runHandler(language: SnippetLanguage, secret: string): Promise<string> {
  const { file, beside = {}, modules, command, needsPort = false } = running[language]
  const folder = await temporaryFolder()
  if (modules !== undefined) await symlink(modules, join(folder, 'node_modules'))
  const files = { ...beside, [file]: snippets[language] }
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text)
  const givenPort = needsPort ? await freePort() : 0
  const [program, ...argv] = command(folder, givenPort)
  const handler = new TestProcess(program, argv, {
    PORT: String(givenPort),
    WEBHOOK_SECRET: secret,
  })
  const exited = handler.ended.then(({ stderr }) => Promise.reject(new Error(stderr)))
  const ready =
    language === 'php'
      ? handler.stderr.matching(/:(\d+)\) started/)
      : handler.stdout.matching(/ready (\d+)/)
  const [, port] = await Promise.race([ready, exited])
  return `http://127.0.0.1:${port!}/webhooks`
}

function node(...packages: readonly string[]): Running {
  const modules = moduleFolders.find((folder) =>
    packages.every((name) => existsSync(join(folder, name))),
  )
  return {
    isThere: () => modules !== undefined,
    ...(modules === undefined ? {} : { modules }),
    file: 'app.mjs',
    beside: { 'preload.mjs': nodePreload },
    command: (folder) => {
      const preload = pathToFileURL(join(folder, 'preload.mjs')).href
      return [process.execPath, '--import', preload, join(folder, 'app.mjs')]
    },
  }
}

function hasProgram(program: string, versionFlag: string): boolean {
  return spawnSync(program, [versionFlag], { stdio: 'ignore' }).status === 0
}
