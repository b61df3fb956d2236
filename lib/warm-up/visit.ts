// A client that comes while a gateway warms up: one connection, on which it asks for what clients ask for.

import { connect } from 'node:net'
import type { Socket } from 'node:net'
import { ENDS, IN_EVENTS } from './backend.ts'

const PATIENCE_MS = 1_000

/** How answers begin: the first piece of one has it whole. */
const WELL = 'HTTP/1.1 200 '

/** Rejects when it is not served. */
export async function visit(port: number, path: string): Promise<void> {
  const socket = connect({ host: '127.0.0.1', port, noDelay: true, timeout: PATIENCE_MS })
  try {
    for (const request of [get(path), post(path, '"stream":false'), post(path, IN_EVENTS)])
      await served(socket, request)
  } finally {
    // Closed in the common way, thousands would keep their ports for a minute.
    socket.resetAndDestroy()
  }
}

async function served(socket: Socket, request: string): Promise<void> {
  const answer = new Promise<void>((resolve, reject) => {
    let text = ''
    socket.setEncoding('latin1').on('data', (more: string) => {
      text += more
      if (!text.startsWith(WELL)) reject(new Error(text.substring(0, text.indexOf('\r\n'))))
      if (ENDS.some((end) => text.endsWith(end))) resolve()
    })
    socket.once('error', reject)
    socket.once('timeout', () => reject(new Error('nothing came')))
    socket.once('close', () => reject(new Error('the connection was closed')))
  })
  socket.write(request, 'latin1')
  await answer
  socket.removeAllListeners('data')
}

function get(path: string): string {
  return `GET ${path} HTTP/1.1\r\nhost: warm.up\r\nuser-agent: warm-up\r\n\r\n`
}

function post(path: string, how: string): string {
  const body = `{"model":"m",${how},"messages":[{"role":"user","content":"Are you ready?"}]}`
  const head = `POST ${path} HTTP/1.1\r\nhost: warm.up\r\naccept: application/json\r\n`
  const length = `content-length: ${body.length}\r\n\r\n`
  return `${head}content-type: application/json\r\n${length}${body}`
}
