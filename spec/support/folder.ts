// A temporary folder, and the ways in which files are written by people and machines.

import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Removes itself when closed. */
export class Folder {
  readonly path = mkdtempSync(join(tmpdir(), 'gateway-spec-'))

  at(name: string): string {
    return join(this.path, name)
  }

  /** In place, and tells where. */
  write(name: string, text: string): string {
    writeFileSync(this.at(name), text)
    return this.at(name)
  }

  /** As editors do: a new file takes the place of the old one. */
  replace(name: string, text: string): string {
    renameSync(this.write(`.${name}.new`, text), this.at(name))
    return this.at(name)
  }

  /**
   * As Kubernetes mounts a volume: files are links into `..data`, itself a link to a folder that is replaced as a whole.
   * Each call is another version.
   */
  mount(version: string, files: Record<string, string>): void {
    mkdirSync(this.at(`..${version}`))
    for (const [name, text] of Object.entries(files)) this.write(`..${version}/${name}`, text)
    symlinkSync(`..${version}`, this.at('..data.new'))
    renameSync(this.at('..data.new'), this.at('..data'))
  }

  /** The names that users see of a mounted volume. */
  link(...names: string[]): void {
    for (const name of names) symlinkSync(join('..data', name), this.at(name))
  }

  remove(name: string): void {
    rmSync(this.at(name), { recursive: true })
  }

  close(): void {
    rmSync(this.path, { recursive: true })
  }
}
