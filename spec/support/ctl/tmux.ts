// A real terminal for specs: tmux runs a program in a window of a given size, presses keys and reads the screen.

import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { Folder } from '../folder.ts'
import { ROOT } from '../root.ts'

const WAIT_MS = 30_000
const LOOK_MS = 50

export const HAS_TMUX = spawnSync('tmux', ['-V']).status === 0

/** A shell in its own tmux server. */
export class Tmux {
  readonly folder = new Folder()
  readonly #socket = this.folder.at('tmux.sock')

  constructor(columns: number, rows: number, env: Readonly<Record<string, string>> = {}) {
    const size = ['-x', String(columns), '-y', String(rows)]
    const shell = "env PS1='$ ' sh"
    this.#run(['new-session', '-d', ...size, '-c', this.folder.path, shell], env)
    this.#run(['set-option', '-g', 'set-clipboard', 'on'])
    this.#awaitPrompt()
  }

  /** Types a line and Enter. `{gwctl}` is replaced by the program. */
  type(line: string): void {
    const program = `'${process.execPath}' '${join(ROOT, 'dist/bin/gwctl.js')}'`
    this.#run(['send-keys', '-l', line.replace('{gwctl}', program)])
    this.press('Enter')
  }

  /** Keys have their tmux names: `Down`, `C-c`, `q`. */
  press(...keys: string[]): void {
    this.#run(['send-keys', ...keys])
  }

  resize(columns: number, rows: number): void {
    this.#run(['resize-window', '-x', String(columns), '-y', String(rows)])
  }

  /** The lines on the screen; `styled` includes the escape sequences of colours. */
  seen(how: 'plain' | 'styled' = 'plain'): string[] {
    const text = this.#run(['capture-pane', '-p', ...(how === 'styled' ? ['-e'] : [])])
    return text.replace(/\n$/, '').split('\n')
  }

  /** What the program copied to the clipboard last. */
  get clipboard(): string {
    return this.#run(['show-buffer'])
  }

  /** Whether the program uses the alternate screen. */
  get isAlternate(): boolean {
    return this.#run(['display-message', '-p', '#{alternate_on}']).trim() === '1'
  }

  get hasCursor(): boolean {
    return this.#run(['display-message', '-p', '#{cursor_flag}']).trim() === '1'
  }

  /** Polls the screen, because a terminal does not report changes. */
  async until(what: RegExp): Promise<string[]> {
    for (const end = Date.now() + WAIT_MS; Date.now() < end; await pause(LOOK_MS)) {
      const lines = this.seen()
      if (what.test(lines.join('\n'))) return lines
    }
    throw new Error(
      `timed out after ${WAIT_MS} ms waiting for ${String(what)} in:\n${this.seen().join('\n')}`,
    )
  }

  close(): void {
    this.#run(['kill-server'])
    this.folder.close()
  }

  /** Text that is typed before the prompt would appear in front of it. */
  #awaitPrompt(): void {
    const neverNotified = new Int32Array(new SharedArrayBuffer(4))
    for (const end = Date.now() + WAIT_MS; !this.seen()[0]!.startsWith('$');) {
      if (Date.now() > end) throw new Error(`timed out after ${WAIT_MS} ms waiting for a shell`)
      Atomics.wait(neverNotified, 0, 0, LOOK_MS)
    }
  }

  #run(args: readonly string[], env: Readonly<Record<string, string>> = {}): string {
    const all = { ...process.env, NO_COLOR: '', LC_ALL: 'C.UTF-8', TERM: 'xterm-256color', ...env }
    const { stdout, stderr, status } = spawnSync(
      'tmux',
      ['-S', this.#socket, '-f', '/dev/null', ...args],
      { encoding: 'utf8', env: all },
    )
    if (status !== 0) throw new Error(`tmux ${args.join(' ')}: ${stderr}`)
    return stdout
  }
}
