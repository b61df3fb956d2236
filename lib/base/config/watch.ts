// Notices that files have changed, by looking at them: renames, symlink swaps and network file systems all show
// in a look, and not all of them in an event.

import { readdir, realpath, stat } from 'node:fs/promises'

const LOOK_MS = 500

export class FileWatch {
  readonly #changed: () => void
  /** By path: how each looked when it was last taken. */
  #taken = new Map<string, string>()
  /** All of them as they looked a look ago: a file that is still being written differs twice. */
  #seen = ''
  #timer: NodeJS.Timeout | null = null

  constructor(changed: () => void) {
    this.#changed = changed
  }

  /** These files and no others; how a new one looks now is no change. */
  async watch(paths: readonly string[]): Promise<void> {
    const taken = new Map<string, string>()
    for (const path of paths) taken.set(path, this.#taken.get(path) ?? (await lookOf(path)))
    this.#taken = taken
    this.#timer ??= this.#schedule()
  }

  close(): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
  }

  #schedule(): NodeJS.Timeout {
    return setTimeout(() => void this.#look(), LOOK_MS).unref()
  }

  async #look(): Promise<void> {
    const now = new Map<string, string>()
    for (const path of this.#taken.keys()) now.set(path, await lookOf(path))
    if (this.#timer === null) return
    const looks = textOf(now)
    const isSettled = looks === this.#seen
    this.#seen = looks
    if (isSettled && looks !== textOf(this.#taken)) {
      this.#taken = now
      this.#changed()
    }
    this.#timer = this.#schedule()
  }
}

function textOf(looks: ReadonlyMap<string, string>): string {
  return [...looks.values()].join('\n')
}

/** Where a path leads and what stands there; a folder looks like the files in it. */
async function lookOf(path: string): Promise<string> {
  try {
    const target = await realpath(path)
    const facts = await stat(target)
    if (!facts.isDirectory()) return `${target} ${facts.mtimeMs} ${facts.size} ${facts.ino}`
    const names = (await readdir(target)).sort()
    return [target, ...(await Promise.all(names.map((name) => lookOf(`${target}/${name}`))))].join(
      '\n',
    )
  } catch {
    return `${path} absent`
  }
}
