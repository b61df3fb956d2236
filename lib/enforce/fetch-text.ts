// Small documents of identity providers, over undici: off the path of requests, so its comfort costs nothing.

import { Agent, request } from 'undici'
import type { Dispatcher } from 'undici'

/** A provider must answer within this, or counts as down. */
const FETCH_TIMEOUT_MS = 5_000

/** Key sets and discovery documents have some kilobytes. */
export const MAX_DOCUMENT_BYTES = 1_048_576

export interface Fetched {
  readonly status: number
  readonly headers: Dispatcher.ResponseData['headers']
  readonly bytes: Buffer
  readonly text: string
}

export interface FetchOptions {
  readonly method?: 'GET' | 'POST'
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Buffer
  readonly timeout?: number
}

export type Fetch = (url: string, options?: FetchOptions) => Promise<Fetched>

/** Throws when there is no answer in time, or one too large. Redirects are answers like any other. */
export function fetcher(): { fetch: Fetch; close: () => void } {
  const dispatcher = new Agent({ keepAliveTimeout: 4_000, connections: 16, pipelining: 1 })
  const fetch: Fetch = async (url, options = {}) => {
    const { method = 'GET', headers = {}, body = null, timeout = FETCH_TIMEOUT_MS } = options
    const signal = AbortSignal.timeout(timeout)
    const answer = await request(url, { method, headers, body, signal, dispatcher })
    const bytes = await bytesOf(answer.body)
    return { status: answer.statusCode, headers: answer.headers, bytes, text: bytes.toString() }
  }
  return { fetch, close: () => void dispatcher.destroy() }
}

async function bytesOf(body: Dispatcher.ResponseData['body']): Promise<Buffer> {
  const parts: Buffer[] = []
  let size = 0
  for await (const part of body as AsyncIterable<Buffer>) {
    size += part.length
    if (size > MAX_DOCUMENT_BYTES) throw new Error(`more than ${MAX_DOCUMENT_BYTES} bytes`)
    parts.push(part)
  }
  return Buffer.concat(parts)
}
