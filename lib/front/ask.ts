// Asks one worker on a private socket of its. Whatever that one does, an answer or a reason is there in time.

import { request } from 'node:http'
import type { IncomingMessage } from 'node:http'

/** For a whole answer. */
const ANSWER_MS = 3_000

/** Of one answer: a dump or a heap profile of a large gateway stays well below. */
const MAX_ANSWER_BYTES = 134_217_728

export interface Question {
  readonly method?: 'GET' | 'POST'
  /** With its query. */
  readonly path: string
  /** Milliseconds for the whole of it. */
  readonly ms?: number
  /** Ends it early: nobody waits for it any more. */
  readonly signal?: AbortSignal
}

export interface Answer {
  readonly status: number
  readonly body: Buffer
}

/** An answer of any status; rejects when there is none. */
export async function askAt(socket: string, question: Question): Promise<Answer> {
  const parts: Buffer[] = []
  const status = await readAt(socket, question, (part) => parts.push(part))
  return { status, body: Buffer.concat(parts) }
}

/** The same for one that is read as it comes; the status, once all of it has. */
export function readAt(
  socket: string,
  { method = 'GET', path, ms = ANSWER_MS, signal }: Question,
  take: (part: Buffer) => void,
): Promise<number> {
  return new Promise((resolve, reject) => {
    const asking = request({ socketPath: socket, method, path, agent: false })
    const late = setTimeout(() => asking.destroy(new Error(`no answer after ${ms} ms`)), ms)
    const leave = (): void => void asking.destroy(new Error('nobody waits for it any more'))
    signal?.addEventListener('abort', leave)
    const over = (settle: () => void): void => {
      clearTimeout(late)
      signal?.removeEventListener('abort', leave)
      settle()
    }
    asking.once('error', (error) => over(() => reject(error)))
    asking.once('response', (response) => {
      bound(response, asking.destroy.bind(asking), take)
      response.once('end', () => over(() => resolve(response.statusCode ?? 0)))
      response.once('error', (error) => over(() => reject(error)))
    })
    asking.end()
  })
}

function bound(
  response: IncomingMessage,
  destroy: (error: Error) => void,
  take: (part: Buffer) => void,
): void {
  let length = 0
  response.on('data', (part: Buffer) => {
    length += part.length
    if (length > MAX_ANSWER_BYTES)
      return destroy(new Error(`the answer is above ${MAX_ANSWER_BYTES} bytes`))
    take(part)
  })
}
