// Asks an admin interface over HTTP, on a port or a unix socket.

import { request } from 'node:http'
import type { IncomingMessage } from 'node:http'
import type { Target } from './target.ts'

export interface Question {
  readonly method: 'GET' | 'POST'
  /** With its query. */
  readonly path: string
  /** Milliseconds until its head must have come. */
  readonly timeout?: number
  /** Milliseconds that its body may take behind the head. */
  readonly bodyTimeout?: number
}

export interface Answer {
  readonly status: number
  /** As in `404 Not Found`. */
  readonly statusText: string
  readonly body: Buffer
}

const ANSWER_TIMEOUT = 10_000
/** Of the whole body, however steadily it drips. */
const BODY_TIMEOUT = 60_000
/** A dump or a heap profile of a large gateway stays well below. */
const MAX_ANSWER_BYTES = 256 * 1024 * 1024

const MAX_TOLD = 2_000

const WORDS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused: is the gateway running, and its admin interface there?',
  ENOENT: 'no such socket: is the gateway running?',
  ENOTFOUND: 'no such host',
  EACCES: 'permission denied',
}

/** The head of an answer, with its body still to come. */
export function open(target: Target, question: Question): Promise<IncomingMessage> {
  const { method, path, timeout = ANSWER_TIMEOUT } = question
  const place =
    target.kind === 'unix'
      ? { socketPath: target.path, headers: { host: 'localhost' } }
      : { host: target.host, port: target.port }
  return new Promise((resolve, reject) => {
    const asking = request({ ...place, method, path, agent: false })
    const late = setTimeout(() => asking.destroy(new Error('no answer in time')), timeout)
    asking.once('response', (response) => {
      clearTimeout(late)
      resolve(response)
    })
    asking.once('error', (error: NodeJS.ErrnoException) => {
      clearTimeout(late)
      reject(new Error(`${target.label}: ${wordsOf(error)}`, { cause: error }))
    })
    asking.end()
  })
}

export async function ask(target: Target, question: Question): Promise<Answer> {
  const response = await open(target, question)
  const body = await bodyOf(response, question.bodyTimeout)
  return { status: response.statusCode ?? 0, statusText: statusText(response), body }
}

/** What a refusal says, for an error's text. */
export function told(body: Buffer): string {
  const text = body.toString().trim()
  return text.length > MAX_TOLD ? `${text.slice(0, MAX_TOLD)}…` : text
}

export function statusText({ statusCode = 0, statusMessage = '' }: IncomingMessage): string {
  return `${statusCode} ${statusMessage}`.trim()
}

/** All of it, with a bound on silence and one on the whole. */
export async function bodyOf(response: IncomingMessage, timeout = BODY_TIMEOUT): Promise<Buffer> {
  response.setTimeout(ANSWER_TIMEOUT, () => response.destroy(new Error('the answer broke off')))
  const tooLong = new Error(`the answer took more than ${timeout / 1_000} s`)
  const late = setTimeout(() => response.destroy(tooLong), timeout)
  try {
    return await allOf(response)
  } finally {
    clearTimeout(late)
  }
}

async function allOf(response: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = []
  let length = 0
  for await (const part of response as AsyncIterable<Buffer>) {
    length += part.length
    if (length > MAX_ANSWER_BYTES) throw new Error(`the answer is above ${MAX_ANSWER_BYTES} bytes`)
    parts.push(part)
  }
  return Buffer.concat(parts)
}

/** A name with several addresses fails with one error for all of them. */
function wordsOf(error: NodeJS.ErrnoException): string {
  const [first = error] = error instanceof AggregateError ? (error.errors as Error[]) : []
  const { code, message }: NodeJS.ErrnoException = first
  return WORDS[code ?? ''] ?? message
}
