// One run of a built program as a child process: its output and its exit.

import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { join } from 'node:path'
import { deadline } from './deadline.ts'
import { ROOT } from './root.ts'

const WAIT_MS = 30_000

/** Programs run in parallel, and other processes may use the default ports. */
const OFF = { ADMIN_ADDR: 'off', STATS_ADDR: 'off', READINESS_ADDR: 'off' }

/** A program with a limit of open files. */
export interface Limited {
  readonly name: string
  readonly descriptors: number
}

export class Program {
  stdout = ''
  stderr = ''
  readonly #child: ChildProcess
  readonly #ended: Promise<number | null>
  #wake: (() => void)[] = []
  #state: 'running' | 'over' = 'running'

  /** A name in dist/bin/. A variable set to undefined is removed from the environment. */
  constructor(
    program: string | Limited,
    args: readonly string[],
    env: Record<string, string | undefined> = {},
    input = '',
  ) {
    const [command, words] = commandOf(program)
    this.#child = spawn(command, [...words, ...args], {
      env: { ...process.env, ...OFF, ...env },
      stdio: ['pipe', 'pipe', 'pipe'],
    })
    // A program that does not read its input may have ended before.
    this.#child.stdin?.on('error', () => {}).end(input)
    this.#child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.stdout += text
      this.#notify()
    })
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.stderr += text
      this.#notify()
    })
    this.#ended = new Promise((resolve, reject) => {
      this.#child.once('error', reject)
      this.#child.once('close', (code) => {
        this.#state = 'over'
        this.#notify()
        resolve(code)
      })
    })
  }

  /** Waits until standard output fits. */
  async prints(expected: RegExp | ((text: string) => boolean)): Promise<void> {
    const fits = (text: string): boolean =>
      typeof expected === 'function' ? expected(text) : expected.test(text)
    while (!fits(this.stdout)) {
      if (this.#state === 'over')
        throw new Error(`ended without ${String(expected)}:\n${this.stdout}${this.stderr}`)
      const change = new Promise<void>((resolve) => this.#wake.push(resolve))
      await deadline(change, WAIT_MS, `${String(expected)} in:\n${this.stdout}${this.stderr}`)
    }
  }

  get pid(): number {
    return this.#child.pid ?? 0
  }

  signal(name: NodeJS.Signals): void {
    this.#child.kill(name)
  }

  /** The exit code; null if a signal ended the program. */
  async exit(): Promise<number | null> {
    return deadline(this.#ended, WAIT_MS, `the end of a program that said:\n${this.stdout}`)
  }

  async kill(): Promise<void> {
    if (this.#state === 'running') this.#child.kill('SIGKILL')
    await this.exit()
  }

  #notify(): void {
    for (const wake of this.#wake.splice(0)) wake()
  }
}

function commandOf(program: string | Limited): [command: string, words: string[]] {
  const path = (name: string): string => join(ROOT, `dist/bin/${name}.js`)
  if (typeof program === 'string') return [process.execPath, [path(program)]]
  const { name, descriptors } = program
  return ['sh', ['-c', `ulimit -n ${descriptors}; exec "$0" "$@"`, process.execPath, path(name)]]
}

/** Runs a program to its end. */
export async function runProgram(
  name: string,
  args: readonly string[],
  env: Record<string, string | undefined> = {},
  input = '',
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const program = new Program(name, args, env, input)
  try {
    const code = await program.exit()
    return { code, stdout: program.stdout, stderr: program.stderr }
  } finally {
    await program.kill()
  }
}
