// Sends the request that is to be traced: with curl, so that every argument of curl does what people know, always to this
// machine, whatever host the URL names.

import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { sendWithout } from './without-curl.ts'

const MAX_WORDS_KEPT = 4_096

export function hasUrl(args: readonly string[]): boolean {
  return args.some((arg) => /^https?:\/\//i.test(arg))
}

/** One request, sent when the trace is ready for it. */
export class Sending {
  readonly port: number
  readonly args: readonly string[]
  #child: ChildProcess | null = null
  #state: 'idle' | 'running' | 'stopped' = 'idle'

  constructor(port: number, args: readonly string[]) {
    this.port = port
    this.args = args
  }

  /** Resolves when it was answered. `words`: what curl has to say goes to standard error, or into the error only. */
  async send(words: 'told' | 'kept'): Promise<void> {
    if (this.#state !== 'idle') return
    this.#state = 'running'
    const ended = await this.#runCurl(words)
    if (ended.kind === 'missing') {
      if (words === 'told')
        process.stderr.write('curl was not found: gwctl sends the request itself\n')
      return sendWithout(this.port, this.args)
    }
    if (ended.code !== 0 && this.#isRunning())
      throw new Error(
        [`curl failed with exit code ${ended.code}`, ended.words].filter(Boolean).join(': '),
      )
  }

  stop(): void {
    this.#state = 'stopped'
    this.#child?.kill()
  }

  #isRunning(): boolean {
    return this.#state === 'running'
  }

  /** Its output is the answer's body, which the trace has: nobody reads it here. */
  #runCurl(
    words: 'told' | 'kept',
  ): Promise<{ kind: 'missing' } | { kind: 'ended'; code: number | null; words: string }> {
    const child = spawn('curl', curlArgs(this.port, this.args), {
      stdio: [
        words === 'told' ? 'inherit' : 'ignore',
        'ignore',
        words === 'told' ? 'inherit' : 'pipe',
      ],
    })
    this.#child = child
    let kept = ''
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      kept = (kept + text).slice(0, MAX_WORDS_KEPT)
    })
    return new Promise((resolve, reject) => {
      child.once('error', (error: NodeJS.ErrnoException) => {
        if (error.code === 'ENOENT') resolve({ kind: 'missing' })
        else reject(new Error(`cannot run curl: ${error.message}`, { cause: error }))
      })
      child.once('close', (code) => resolve({ kind: 'ended', code, words: kept.trim() }))
    })
  }
}

/** Every host and port means the listener here, also that of a redirect, and no proxy gets in between. */
function curlArgs(port: number, args: readonly string[]): string[] {
  const own = ['--silent', '--show-error', '--noproxy', '*', '--connect-to', `::127.0.0.1:${port}`]
  return [...own, ...args]
}
