// A Redis for one run: the real one if it is installed, otherwise a substitute with the few commands that the rate limit
// service uses.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { freePort } from '../../../conformance/gateway-process.ts'
import { deadline } from '../deadline.ts'
import { ServerProgram } from './program.ts'

const START_MS = 30_000

export interface Redis {
  /** Its name in the output of the spec. */
  readonly name: string
  readonly port: number
  stop(): Promise<void>
}

export async function startRedis(): Promise<Redis> {
  for (const name of ['redis-server', 'valkey-server'])
    if (await isInstalled(name)) return startReal(name)
  return startSubstitute()
}

async function isInstalled(name: string): Promise<boolean> {
  const child = spawn(name, ['--version'], { stdio: 'ignore' })
  return new Promise((resolve) => {
    child.once('error', () => resolve(false)).once('close', (code) => resolve(code === 0))
  })
}

async function startReal(name: string): Promise<Redis> {
  const port = await freePort()
  const args = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no']
  const program = new ServerProgram(name, args, {})
  await program.waitForOutput(/Ready to accept connections/, START_MS)
  return { name, port, stop: () => program.stop() }
}

async function startSubstitute(): Promise<Redis> {
  const counts = new Map<string, bigint>()
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    let rest = ''
    socket.setEncoding('latin1').on('data', (text: string) => {
      rest += text
      for (let command = commandIn(rest); command !== null; command = commandIn(rest)) {
        rest = rest.slice(command.length)
        socket.write(answerTo(command.words, counts))
      }
    })
    socket.on('error', () => {}).on('close', () => sockets.delete(socket))
  }).listen(0, '127.0.0.1')
  await deadline(once(server, 'listening'), START_MS, 'a substitute for Redis')
  return {
    name: 'a substitute for Redis',
    port: (server.address() as AddressInfo).port,
    async stop() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await deadline(once(server, 'close'), START_MS, 'the substitute to stop')
    },
  }
}

/** The first complete command: `*2\r\n$4\r\nINCR\r\n$1\r\na\r\n`. */
function commandIn(text: string): { words: string[]; length: number } | null {
  const head = /^\*(\d+)\r\n/.exec(text)
  if (head === null) return null
  const words: string[] = []
  let at = head[0].length
  for (let left = Number(head[1]); left > 0; left--) {
    const size = /^\$(\d+)\r\n/.exec(text.slice(at, at + 20))
    if (size === null) return null
    const from = at + size[0].length
    at = from + Number(size[1]) + 2
    if (at > text.length) return null
    words.push(text.slice(from, at - 2))
  }
  return { words, length: at }
}

/** Keys contain their window, so expiry is not needed. */
function answerTo(
  [name = '', key = '', value = '0']: string[],
  counts: Map<string, bigint>,
): string {
  switch (name.toUpperCase()) {
    case 'PING':
      return '+PONG\r\n'
    case 'INCRBY':
      counts.set(key, (counts.get(key) ?? 0n) + BigInt(value))
      return `:${counts.get(key)}\r\n`
    case 'EXPIRE':
      return ':1\r\n'
    default:
      return '-ERR unknown command\r\n'
  }
}
