// One run of an external server program, from its start to its exit.

import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { deadline } from '../deadline.ts'

const STOP_MS = 5_000

export class ServerProgram {
  readonly #name: string
  readonly #child: ChildProcess
  readonly #ended: Promise<void>
  #output = ''
  #wake: () => void = () => {}

  constructor(name: string, args: readonly string[], env: Readonly<Record<string, string>>) {
    this.#name = name
    const { PATH = '', HOME = '' } = process.env
    this.#child = spawn(name, args, {
      env: { PATH, HOME, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    for (const stream of [this.#child.stdout!, this.#child.stderr!])
      stream.setEncoding('utf8').on('data', (text: string) => this.#append(text))
    this.#ended = new Promise((resolve) => {
      this.#child.once('error', () => resolve()).once('close', () => resolve())
    })
    void this.#ended.then(() => this.#wake())
  }

  /** Waits until the output matches, and stops the program if it does not in time. */
  async waitForOutput(expected: RegExp, ms: number): Promise<void> {
    const waiting = async (): Promise<void> => {
      while (!expected.test(this.#output)) {
        if (this.#child.exitCode !== null || this.#child.pid === undefined)
          throw new Error(`${this.#name} exited: ${this.#output}`)
        await new Promise<void>((resolve) => (this.#wake = resolve))
      }
    }
    try {
      await deadline(waiting(), ms, `${this.#name} to print ${expected}, not ${this.#output}`)
    } catch (error) {
      await this.stop()
      throw error
    }
  }

  async stop(): Promise<void> {
    this.#child.kill('SIGTERM')
    await deadline(this.#ended, STOP_MS, this.#name).catch(() => this.#child.kill('SIGKILL'))
    await deadline(this.#ended, STOP_MS, `${this.#name} to exit`)
  }

  #append(text: string): void {
    this.#output += text
    this.#wake()
  }
}
