// A temporary folder, and the ways in which editors and Kubernetes write files.

import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Removes itself when closed. */
export class Folder {
  readonly path = mkdtempSync(join(tmpdir(), 'gateway-spec-'))

  at(name: string): string {
    return join(this.path, name)
  }

  /** Writes in place, and returns the path. */
  write(name: string, text: string): string {
    writeFileSync(this.at(name), text)
    return this.at(name)
  }

  /** Replaces the file by a new one, as editors do. */
  replace(name: string, text: string): string {
    renameSync(this.write(`.${name}.new`, text), this.at(name))
    return this.at(name)
  }

  /**
   * Writes a volume as Kubernetes mounts it: files are links into `..data`, a link to a folder that is replaced as a
   * whole. Each call is another version.
   */
  mount(version: string, files: Record<string, string>): void {
    mkdirSync(this.at(`..${version}`))
    for (const [name, text] of Object.entries(files)) this.write(`..${version}/${name}`, text)
    symlinkSync(`..${version}`, this.at('..data.new'))
    renameSync(this.at('..data.new'), this.at('..data'))
  }

  /** The visible names of a mounted volume. */
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
