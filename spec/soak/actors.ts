// The actors of a soak: each repeats one kind of request with a pause, until the soak rests.

import { request } from 'node:http'
import type { Agent, IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { connectV1 } from '../support/mcp/client-v1.ts'
import { answersOf } from '../support/mcp/judge-client.ts'
import { deadline } from '../support/deadline.ts'
import { EVENTS } from './backend.ts'
import type { Ledger } from './ledger.ts'

const ANSWER_MS = 30_000
const PAUSE_MS = 25
const UPLOAD_BYTES = 1_048_576
const CALLS = 5

export interface Scene {
  readonly port: number
  /** The unix socket of the admin interface. */
  readonly admin: string
  readonly ledger: Ledger
  readonly agent: Agent
  /** Writes a changed configuration and signals the gateway. */
  readonly reload: () => void
  /** A number between 0 and 1, the same in every run with the same seed. */
  readonly random: () => number
}

type Act = (scene: Scene) => Promise<void>

/** The actor, how many run in parallel, and the pause between two requests. */
export const CAST: readonly (readonly [Act, number, number])[] = [
  [echo, 4, PAUSE_MS],
  [limited, 2, PAUSE_MS],
  [stream, 6, PAUSE_MS],
  [leaveStream, 2, PAUSE_MS],
  [upload, 2, 4 * PAUSE_MS],
  [leaveUpload, 2, 2 * PAUSE_MS],
  [leaveHead, 1, 4 * PAUSE_MS],
  [cutOff, 1, 4 * PAUSE_MS],
  [chat, 3, PAUSE_MS],
  [session, 2, 40 * PAUSE_MS],
  [dropSession, 1, 80 * PAUSE_MS],
  [trace, 1, 10 * PAUSE_MS],
  [leaveTrace, 1, 10 * PAUSE_MS],
  [reload, 1, 80 * PAUSE_MS],
]

async function echo({ port, ledger, agent, random }: Scene): Promise<void> {
  const path = ledger.begin('echo')
  const body = 'e'.repeat(1 + Math.floor(random() * 4096))
  const { status, text } = await ask(port, path, { agent, body })
  if (status !== 200 || text !== body) ledger.fault(`${path}: ${status}, ${text.length} bytes`)
  ledger.end(path, 'whole')
}

async function limited({ port, ledger, agent }: Scene): Promise<void> {
  const path = ledger.begin('limited')
  const { status } = await ask(port, path, { agent, body: 'x' })
  if (status !== 200 && status !== 429) ledger.fault(`${path}: ${status}`)
  ledger.end(path, status === 200 ? 'whole' : 'refused')
}

async function stream({ port, ledger, agent }: Scene): Promise<void> {
  const path = ledger.begin('stream')
  const { status, text } = await ask(port, path, { agent })
  const events = text.split('\n\n').length - 1
  if (status !== 200 || events !== EVENTS) ledger.fault(`${path}: ${status}, ${events} events`)
  ledger.end(path, 'whole')
}

/** Disconnects in the middle of a stream. */
async function leaveStream({ port, ledger, random }: Scene): Promise<void> {
  const path = ledger.begin('stream')
  const answer = await head(port, path)
  await sleep(random() * 150)
  answer.destroy()
  ledger.end(path, 'broken')
}

async function upload({ port, ledger, agent }: Scene): Promise<void> {
  const path = ledger.begin('upload')
  const { status, text } = await ask(port, path, { agent, body: 'u'.repeat(UPLOAD_BYTES) })
  if (status !== 200 || text !== `{"bytes":${UPLOAD_BYTES}}`) ledger.fault(`${path}: ${status}`)
  ledger.end(path, 'whole')
}

/** Declares more bytes than it sends, and resets the connection. */
async function leaveUpload({ port, ledger, random }: Scene): Promise<void> {
  const path = ledger.begin('upload')
  const bytes = Math.floor(random() * UPLOAD_BYTES)
  const fields = `host: soak\r\ncontent-length: ${UPLOAD_BYTES}`
  await leave(port, `POST ${path} HTTP/1.1\r\n${fields}\r\n\r\n${'u'.repeat(bytes)}`)
  ledger.end(path, 'broken')
}

/** Disconnects before the head is complete: nothing is logged. */
async function leaveHead({ port }: Scene): Promise<void> {
  await leave(port, 'GET /echo/never HTTP/1.1\r\nhost: so')
}

/** The backend cuts its response, so the gateway must cut its own. */
async function cutOff({ port, ledger }: Scene): Promise<void> {
  const path = ledger.begin('cut')
  const answer = await head(port, path)
  const isCut = await deadline(
    new Promise<boolean>((resolve) => {
      answer
        .on('end', () => resolve(false))
        .on('error', () => resolve(true))
        .resume()
    }),
    ANSWER_MS,
    path,
  )
  if (!isCut) ledger.fault(`${path}: looked whole`)
  ledger.end(path, 'broken')
}

async function chat({ port, ledger, agent }: Scene): Promise<void> {
  const body = JSON.stringify({ model: 'soak', messages: [{ role: 'user', content: 'Well?' }] })
  const fields = { 'content-type': 'application/json', 'x-user': 'soak' }
  const { status, text } = await ask(port, '/v1/chat/completions', { agent, body, fields })
  if (status !== 200 || !text.includes('"Yes."')) ledger.fault(`chat: ${status} ${text}`)
  ledger.counted('v1', 'whole')
}

async function session({ port, ledger }: Scene): Promise<void> {
  const client = await connectV1(new URL(`http://127.0.0.1:${port}/mcp`), answersOf('soak'))
  try {
    for (let call = 0; call < CALLS; call++) {
      const { text } = await client.call('echo', { text: `call ${call}` })
      if (!text.includes(`call ${call}`)) ledger.fault(`the answer to call ${call} was: ${text}`)
    }
    await client.terminate()
    ledger.counted('session', 'whole')
  } finally {
    await client.close()
  }
}

/** Does not delete its session: the session ends by its timeout. */
async function dropSession({ port, ledger }: Scene): Promise<void> {
  const client = await connectV1(new URL(`http://127.0.0.1:${port}/mcp`), answersOf('soak'))
  await client.close()
  ledger.counted('session', 'broken')
}

async function trace(scene: Scene): Promise<void> {
  const { admin, ledger } = scene
  const answer = await head(admin, '/debug/trace')
  // All other actors may have stopped already.
  await echo(scene)
  const text = await deadline(textOf(answer), ANSWER_MS, 'a trace')
  if (answer.statusCode !== 200 || !text.includes('requestFinished'))
    ledger.fault(`trace: ${answer.statusCode} ${text.slice(-200)}`)
  ledger.counted('trace', 'whole')
}

async function leaveTrace({ admin }: Scene): Promise<void> {
  const answer = await head(admin, '/debug/trace?expression=false')
  answer.destroy()
}

async function reload(scene: Scene): Promise<void> {
  scene.reload()
}

interface Asking {
  readonly agent?: Agent
  readonly body?: string
  readonly fields?: Record<string, string>
}

interface Answer {
  readonly status: number
  readonly text: string
}

/** `place`: a port on loopback, or the path of a unix socket. */
async function ask(place: number | string, path: string, asking: Asking): Promise<Answer> {
  const answer = await deadline(open(place, path, asking), ANSWER_MS, path)
  const text = await deadline(textOf(answer), ANSWER_MS, path)
  return { status: answer.statusCode ?? 0, text }
}

async function textOf(answer: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of answer.setEncoding('utf8')) text += String(chunk)
  return text
}

/** The head of a response on its own connection. */
async function head(place: number | string, path: string): Promise<IncomingMessage> {
  return deadline(open(place, path, {}), ANSWER_MS, path)
}

function open(
  place: number | string,
  path: string,
  { agent, body, fields = {} }: Asking,
): Promise<IncomingMessage> {
  const where =
    typeof place === 'number' ? { host: '127.0.0.1', port: place } : { socketPath: place }
  return new Promise((resolve, reject) => {
    const call = request(
      {
        ...where,
        path,
        method: body === undefined ? 'GET' : 'POST',
        headers: { host: 'localhost', ...fields },
        agent: agent ?? false,
      },
      resolve,
    )
    call.on('error', reject)
    call.end(body)
  })
}

async function leave(port: number, text: string): Promise<void> {
  const socket = connect({ host: '127.0.0.1', port })
  socket.on('error', () => {})
  await deadline(once(socket, 'connect'), ANSWER_MS, 'a connection')
  socket.write(text)
  await sleep(1)
  socket.resetAndDestroy()
}
