// An HTTP server for the key set of an identity provider, which a spec controls and which counts its requests.

import { createServer } from 'node:http'
import type { Server, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import { deadline } from './deadline.ts'
import type { Signer } from './signer.ts'

export class KeyServer {
  status = 200
  text = ''
  headers: Record<string, string> = { 'content-type': 'application/json' }
  asked = 0
  /** Compresses responses, requested or not. */
  packs = false
  /** While true, responses wait for `release`. */
  isHolding = false
  readonly #server: Server
  #held: ServerResponse[] = []
  #wake: () => void = () => {}

  private constructor() {
    this.#server = createServer((_request, response) => {
      this.asked++
      if (this.isHolding) this.#held.push(response)
      else this.#answer(response)
      this.#wake()
    })
    this.#server.unref()
  }

  static async start(...signers: Signer[]): Promise<KeyServer> {
    const server = new KeyServer()
    server.offer(...signers)
    const listening = new Promise<void>((resolve) => {
      server.#server.listen(0, '127.0.0.1', resolve)
    })
    await deadline(listening, 30_000, 'the key server to listen')
    return server
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/keys`
  }

  /** Replaces the keys of the set. */
  offer(...signers: Signer[]): void {
    this.text = JSON.stringify({ keys: signers.map(({ jwk }) => jwk) })
  }

  async untilAsked(count: number): Promise<void> {
    while (this.asked < count) {
      const woken = new Promise<void>((resolve) => (this.#wake = resolve))
      await deadline(woken, 30_000, `${count} requests for keys`)
    }
  }

  release(): void {
    this.isHolding = false
    for (const response of this.#held.splice(0)) this.#answer(response)
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections()
    const closed = new Promise((resolve) => this.#server.close(resolve))
    await deadline(closed, 30_000, 'the key server to close')
  }

  #answer(response: ServerResponse): void {
    if (!this.packs) return void response.writeHead(this.status, this.headers).end(this.text)
    const headers = { ...this.headers, 'content-encoding': 'gzip' }
    response.writeHead(this.status, headers).end(gzipSync(this.text))
  }
}
