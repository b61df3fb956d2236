// The gateway process of a soak: reads its log while it runs, and measures its memory and resources.

import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { deadline } from '../support/deadline.ts'
import { ROOT } from '../support/root.ts'
import { Inspector } from './inspector.ts'

const START_MS = 30_000
const STOP_MS = 60_000

/** The measurements of an idle gateway. */
export interface Weight {
  readonly heap: number
  readonly rss: number
  readonly descriptors: number
  readonly resources: Record<string, number>
}

export type Line = Record<string, unknown>

export class SoakedGateway {
  readonly port: number
  readonly #child: ChildProcess
  readonly #inspector: Inspector

  private constructor(child: ChildProcess, port: number, inspector: Inspector) {
    this.#child = child
    this.port = port
    this.#inspector = inspector
  }

  static async start(
    file: string,
    admin: string,
    heard: (line: Line) => void,
  ): Promise<SoakedGateway> {
    const program = join(ROOT, 'dist/bin/gateway.js')
    const child = spawn(process.execPath, ['--inspect=127.0.0.1:0', program, '-f', file], {
      env: {
        ...process.env,
        ADMIN_ADDR: `unix:${admin}`,
        STATS_ADDR: 'off',
        READINESS_ADDR: 'off',
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let said = ''
    const inspected = new Promise<string>((resolve) => {
      child.stderr.setEncoding('utf8').on('data', (text: string) => {
        said += text
        const url = /ws:\/\/\S+/.exec(said)?.[0]
        if (url !== undefined) resolve(url)
      })
    })
    const listening = new Promise<number>((resolve) => {
      createInterface({ input: child.stdout }).on('line', (text) => {
        const line = JSON.parse(text) as Line
        if (line['message'] === 'started bind') resolve(Number(line['port']))
        heard(line)
      })
    })
    const over = once(child, 'exit').then(() => {
      throw new Error(`the gateway ended: ${said}`)
    })
    over.catch(() => {})
    try {
      const both = Promise.all([listening, inspected])
      const [port, url] = await deadline(Promise.race([both, over]), START_MS, 'the gateway')
      return new SoakedGateway(child, port, await Inspector.connect(url))
    } catch (error) {
      child.kill('SIGKILL')
      throw error
    }
  }

  get pid(): number {
    return this.#child.pid ?? 0
  }

  /** All child processes of the gateway. */
  children(): string[] {
    return readFileSync(`/proc/${this.pid}/task/${this.pid}/children`, 'latin1')
      .split(' ')
      .filter((pid) => pid !== '')
  }

  async weigh(): Promise<Weight> {
    const heap = await this.#inspector.heapAfterGc()
    const status = readFileSync(`/proc/${this.pid}/status`, 'latin1')
    return {
      heap,
      rss: Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1]) * 1024,
      descriptors: readdirSync(`/proc/${this.pid}/fd`).length,
      resources: await this.#inspector.resources(),
    }
  }

  reload(): void {
    this.#child.kill('SIGHUP')
  }

  /** Stops the gateway and returns its exit code. */
  async stop(): Promise<number | null> {
    this.#inspector.close()
    if (this.#child.exitCode !== null) return this.#child.exitCode
    const over = once(this.#child, 'exit')
    this.#child.kill('SIGTERM')
    try {
      await deadline(over, STOP_MS, 'the gateway to stop')
    } catch (error) {
      this.#child.kill('SIGKILL')
      throw error
    }
    return this.#child.exitCode
  }
}
