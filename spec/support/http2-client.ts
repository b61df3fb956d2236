// node:http2 as a client, with every wait under a deadline.

import { connect } from 'node:http2'
import type {
  ClientHttp2Session,
  ClientHttp2Stream,
  ClientSessionOptions,
  ClientSessionRequestOptions,
  IncomingHttpHeaders,
  OutgoingHttpHeaders,
  SecureClientSessionOptions,
} from 'node:http2'
import { deadline } from './deadline.ts'

const WAIT_MS = 30_000

export class Http2Client {
  readonly session: ClientHttp2Session

  constructor(authority: string, options: ClientSessionOptions | SecureClientSessionOptions = {}) {
    this.session = connect(authority, options)
    this.session.on('error', () => {})
  }

  request(headers: OutgoingHttpHeaders, options: ClientSessionRequestOptions = {}): Http2Request {
    return new Http2Request(this.session.request(headers, options))
  }

  /** Sends a request and waits for its end. */
  async get(path: string): Promise<Http2Request> {
    const request = this.request({ ':path': path })
    await request.closed()
    return request
  }

  async closed(): Promise<void> {
    if (this.session.destroyed) return
    const closed = new Promise<void>((resolve) => this.session.once('close', resolve))
    await deadline(closed, WAIT_MS, 'an HTTP/2 session to close')
  }

  close(): void {
    this.session.destroy()
  }
}

/** A stream and what was received on it. */
export class Http2Request {
  readonly stream: ClientHttp2Stream
  head: IncomingHttpHeaders = {}
  trailers: IncomingHttpHeaders = {}
  readonly interim: IncomingHttpHeaders[] = []
  body = ''
  #wake: (() => void)[] = []

  constructor(stream: ClientHttp2Stream) {
    this.stream = stream
    stream.on('error', () => {})
    stream.on('headers', (head) => this.#note(() => this.interim.push(head)))
    stream.on('continue', () => this.#note(() => this.interim.push({ ':status': '100' })))
    stream.on('response', (head) => this.#note(() => (this.head = head)))
    stream.on('trailers', (trailers) => this.#note(() => (this.trailers = trailers)))
    stream.on('data', (bytes: Buffer) => this.#note(() => (this.body += bytes.toString('latin1'))))
    stream.on('close', () => this.#note(() => {}))
  }

  get status(): number {
    return Number(this.head[':status'] ?? 0)
  }

  /** Waits until the condition is true; fails if the stream ends before. */
  async until(holds: () => boolean): Promise<this> {
    while (!holds()) {
      if (this.stream.destroyed) throw new Error(`stream over with ${JSON.stringify(this.body)}`)
      const change = new Promise<void>((resolve) => this.#wake.push(resolve))
      await deadline(change, WAIT_MS, `a stream that has ${JSON.stringify(this.body)}`)
    }
    return this
  }

  /** Waits for the end; returns 0 for a clean end, or the reset code. */
  async closed(): Promise<number> {
    while (!this.stream.destroyed || !this.stream.closed) {
      const change = new Promise<void>((resolve) => this.#wake.push(resolve))
      await deadline(change, WAIT_MS, 'a stream to close')
    }
    return this.stream.rstCode ?? 0
  }

  #note(change: () => void): void {
    change()
    const woken = this.#wake
    this.#wake = []
    for (const wake of woken) wake()
  }
}
