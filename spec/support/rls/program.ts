// A server program of somebody else's, from its first word to its end.

import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { deadline } from '../deadline.ts'

const STOP_MS = 5_000

export class ServerProgram {
  readonly #name: string
  readonly #child: ChildProcess
  readonly #ended: Promise<void>
  #said = ''
  #wake: () => void = () => {}

  constructor(name: string, args: readonly string[], env: Readonly<Record<string, string>>) {
    this.#name = name
    const { PATH = '', HOME = '' } = process.env
    this.#child = spawn(name, args, {
      env: { PATH, HOME, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    for (const stream of [this.#child.stdout!, this.#child.stderr!])
      stream.setEncoding('utf8').on('data', (text: string) => this.#hear(text))
    this.#ended = new Promise((resolve) => {
      this.#child.once('error', () => resolve()).once('close', () => resolve())
    })
    void this.#ended.then(() => this.#wake())
  }

  /** Waits until it has said this, and stops it when it does not. */
  async waitForOutput(word: RegExp, ms: number): Promise<void> {
    const saying = async (): Promise<void> => {
      while (!word.test(this.#said)) {
        if (this.#child.exitCode !== null || this.#child.pid === undefined)
          throw new Error(`${this.#name} ended: ${this.#said}`)
        await new Promise<void>((resolve) => (this.#wake = resolve))
      }
    }
    try {
      await deadline(saying(), ms, `${this.#name} to say ${word}, not ${this.#said}`)
    } catch (error) {
      await this.stop()
      throw error
    }
  }

  async stop(): Promise<void> {
    this.#child.kill('SIGTERM')
    await deadline(this.#ended, STOP_MS, this.#name).catch(() => this.#child.kill('SIGKILL'))
    await deadline(this.#ended, STOP_MS, `${this.#name} to be gone`)
  }

  #hear(text: string): void {
    this.#said += text
    this.#wake()
  }
}
