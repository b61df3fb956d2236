// The sockets that a process listens on, so that a successor can be given them: those it opened itself, and those it was
// given when it started.

import { closeSync, existsSync, linkSync, renameSync, rmSync } from 'node:fs'
import type { Server } from 'node:net'
import { descriptorOf } from '../wire/handle.ts'
import { BACKLOG, openAlone } from './open-port.ts'
import type { OpenedPort, PathPlace, PortPlace } from './open-port.ts'

type Place = PortPlace | PathPlace

export class Sockets {
  /** Descriptors that nobody has asked for yet, by place. */
  readonly #given: Map<string, number>
  readonly #open = new Map<string, Server>()
  /** Those of them that are files. */
  readonly #files = new Map<string, Server>()
  #state: 'here' | 'leaving' = 'here'

  constructor(given: Iterable<readonly [string, number]> = []) {
    this.#given = new Map(given)
  }

  isGiven(place: Place): boolean {
    return this.#given.has(keyOf(place))
  }

  /** Also of one that was given. */
  readonly open = async (server: Server, place: Place): Promise<OpenedPort> => {
    const key = this.#freeKeyOf(place)
    this.#dropLost(place)
    const fd = this.#given.get(key)
    this.#open.set(key, server)
    const opened = await openAlone(server, fd === undefined ? place : { fd }).catch(
      (error: unknown) => {
        this.#open.delete(key)
        throw error
      },
    )
    this.#given.delete(key)
    if ('path' in place) this.#files.set(place.path, server)
    const close = (): void => {
      this.#open.delete(key)
      if ('path' in place) this.#files.delete(place.path)
      if (!('path' in place)) opened.close()
      else if (this.#state === 'here') closeFile(opened, place.path)
      else leaveFile(opened, place.path)
    }
    return { port: opened.port, close }
  }

  /** Of several on port 0, each has its own: a successor is given them in the order in which it asks. */
  #freeKeyOf(place: Place): string {
    const key = keyOf(place)
    if ('path' in place || place.port !== 0) return key
    let free = key
    for (let nth = 2; this.#open.has(free); nth++) free = `${key} ${nth}`
    return free
  }

  /** A socket whose file somebody removed is reached by nobody: it is opened anew. */
  #dropLost(place: Place): void {
    const key = keyOf(place)
    const fd = this.#given.get(key)
    if (fd === undefined || !('path' in place) || existsSync(place.path)) return
    this.#given.delete(key)
    closeSync(fd)
  }

  /** Descriptors of all that are open, by place. */
  get descriptors(): Map<string, number> {
    const found = new Map<string, number>()
    for (const [key, server] of this.#open) {
      const fd = descriptorOf(server)
      if (fd >= 0) found.set(key, fd)
    }
    return found
  }

  /** Where somebody has removed the file, nobody finds it any more: it is made anew. What was connected stays so. */
  reopenLost(): string[] {
    const lost = [...this.#files].filter(([path]) => !existsSync(path))
    for (const [path, server] of lost) {
      server.close()
      server.listen({ path, backlog: BACKLOG })
    }
    return lost.map(([path]) => path)
  }

  /** A successor has them, too: from now on the files of those that close stay. */
  leave(): void {
    this.#state = 'leaving'
  }

  /** Those that were given and are not wanted any more. */
  closeRest(): void {
    for (const fd of this.#given.values()) closeSync(fd)
    this.#given.clear()
  }
}

function keyOf(place: Place): string {
  return 'path' in place ? `unix:${place.path}` : `${place.host} ${place.port}`
}

/** Node removes the file of a socket it opened, and not that of one it was given. */
function closeFile(opened: OpenedPort, path: string): void {
  opened.close()
  rmSync(path, { force: true })
}

/** Node would remove the file, in which the successor listens. Whatever stands against keeping it, the socket closes. */
function leaveFile(opened: OpenedPort, path: string): void {
  const kept = `${path}.kept`
  try {
    rmSync(kept, { force: true })
    linkSync(path, kept)
  } catch {
    return opened.close()
  }
  opened.close()
  renameSync(kept, path)
}
