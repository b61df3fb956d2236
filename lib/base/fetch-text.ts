// Small documents of identity providers, over undici: off the path of requests, so its comfort costs nothing.

import { gunzipSync } from 'node:zlib'
import type { Agent, Dispatcher } from 'undici'
import { outsideLookup } from './places/outside.ts'

/** A provider must answer within this, or counts as down. */
const FETCH_TIMEOUT_MS = 5_000

/** Key sets and discovery documents have some kilobytes. */
export const MAX_DOCUMENT_BYTES = 1_048_576

export interface Fetched {
  readonly status: number
  readonly headers: Dispatcher.ResponseData['headers']
  /** As they came; what is packed stays so. */
  readonly bytes: Buffer
  /** Throws where they are packed by other means than gzip. */
  readonly text: () => string
}

export interface FetchOptions {
  readonly method?: 'GET' | 'POST'
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Buffer
  readonly timeout?: number
}

export type Fetch = (url: string, options?: FetchOptions) => Promise<Fetched>

/** `ours`: this very process is asked, by whatever certificate. `strangers`: nobody configured them, so none is inside. */
export type Asked = 'theirs' | 'ours' | 'strangers'

/** Throws when there is no answer in time, or one too large. Redirects are answers like any other. */
export function fetcher(asked: Asked = 'theirs'): { fetch: Fetch; close: () => void } {
  const connect = {
    rejectUnauthorized: asked !== 'ours',
    ...(asked === 'strangers' ? { lookup: outsideLookup() } : {}),
  }
  let dispatcher: Agent | null | 'closed' = null
  const fetch: Fetch = async (url, options = {}) => {
    const { method = 'GET', headers = {}, body = null, timeout = FETCH_TIMEOUT_MS } = options
    const signal = AbortSignal.timeout(timeout)
    // A large library, and most gateways ask nobody.
    const { Agent, request } = await import('undici')
    if (dispatcher === 'closed') throw new Error('nobody waits for an answer any more')
    dispatcher ??= new Agent({ keepAliveTimeout: 4_000, connections: 16, pipelining: 1, connect })
    const answer = await request(url, { method, headers, body, signal, dispatcher })
    const bytes = await bytesOf(answer.body)
    const { statusCode: status, headers: fields } = answer
    const coding = String(fields['content-encoding'] ?? 'identity')
    return { status, headers: fields, bytes, text: () => textOf(bytes, coding) }
  }
  const close = (): void => {
    if (dispatcher !== null && dispatcher !== 'closed') void dispatcher.destroy()
    dispatcher = 'closed'
  }
  return { fetch, close }
}

/** Some servers pack what nobody asked them to pack. Throws for any other coding than gzip. */
function textOf(bytes: Buffer, coding: string): string {
  const name = coding.trim().toLowerCase()
  if (name === 'identity' || name === '' || bytes.length === 0) return bytes.toString()
  if (name !== 'gzip' && name !== 'x-gzip') throw new Error(`content-encoding ${name.slice(0, 32)}`)
  return gunzipSync(bytes, { maxOutputLength: MAX_DOCUMENT_BYTES }).toString()
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
