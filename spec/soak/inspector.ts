// Reads a process through its inspector: the heap after a garbage collection, and the active resources.

import { WebSocket } from 'ws'
import { deadline } from '../support/deadline.ts'

const WAIT_MS = 30_000

interface Result {
  readonly id?: number
  readonly result?: Record<string, unknown>
  readonly error?: { readonly message: string }
}

export class Inspector {
  readonly #socket: WebSocket
  readonly #waiting = new Map<number, (message: Result) => void>()
  #last = 0

  private constructor(socket: WebSocket) {
    this.#socket = socket
    socket.on('message', (data: Buffer) => {
      const message = JSON.parse(data.toString()) as Result
      this.#waiting.get(message.id ?? 0)?.(message)
    })
  }

  static async connect(url: string): Promise<Inspector> {
    const socket = new WebSocket(url)
    const open = new Promise<void>((resolve, reject) =>
      socket.on('open', resolve).on('error', reject),
    )
    await deadline(open, WAIT_MS, 'the inspector')
    return new Inspector(socket)
  }

  /** Collects twice: the first collection may make more objects free. */
  async heapAfterGc(): Promise<number> {
    await this.#ask('HeapProfiler.collectGarbage')
    await this.#ask('HeapProfiler.collectGarbage')
    const { usedSize } = await this.#ask('Runtime.getHeapUsage')
    return Number(usedSize)
  }

  /** The number of resources of each kind: timers, sockets, servers, children. */
  async resources(): Promise<Record<string, number>> {
    const expression = 'JSON.stringify(process.getActiveResourcesInfo())'
    const { result } = await this.#ask('Runtime.evaluate', { expression, returnByValue: true })
    const names = JSON.parse(String((result as { value: unknown }).value)) as string[]
    const counts: Record<string, number> = {}
    for (const name of names) counts[name] = (counts[name] ?? 0) + 1
    return counts
  }

  close(): void {
    this.#socket.terminate()
  }

  async #ask(method: string, params: object = {}): Promise<Record<string, unknown>> {
    const id = ++this.#last
    const answered = new Promise<Result>((resolve) => this.#waiting.set(id, resolve))
    this.#socket.send(JSON.stringify({ id, method, params }))
    const { result, error } = await deadline(answered, WAIT_MS, method)
    this.#waiting.delete(id)
    if (result === undefined) throw new Error(`${method}: ${error?.message ?? 'nothing'}`)
    return result
  }
}
