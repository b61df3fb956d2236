// The files of the page as the build made them: each is read at its first request and served under a name of the manifest,
// so that no part of a request ever becomes the name of a file.

import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { FAVICON_PATH, UI_PATH } from '../../core/well-known-paths.ts'

export type Coding = 'br' | 'gzip'

export interface Asset {
  readonly type: string
  readonly cacheControl: string
  /** An entity tag; a compressed form has its own. */
  readonly tag: string
  readonly content: Buffer
  readonly compressed: Readonly<Partial<Record<Coding, Buffer>>>
}

/** Next to this folder, wherever the build puts it. */
const FOLDER = new URL('../../page/assets/', import.meta.url)

/** A hashed name never gets other content. */
const IMMUTABLE = 'public, max-age=31536000, immutable'
const REVALIDATE = 'no-cache'
const ONE_DAY = 'public, max-age=86400'

const TYPES: Readonly<Record<string, string>> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
  html: 'text/html; charset=utf-8',
  ico: 'image/x-icon',
}

export class Assets {
  /** By path. */
  #names: ReadonlyMap<string, string> | null = null
  readonly #read = new Map<string, Asset>()
  #page: Asset | null = null

  find(path: string): Asset | undefined {
    const known = this.#read.get(path)
    if (known !== undefined) return known
    const name = path === FAVICON_PATH ? 'favicon.ico' : this.#nameAt(path)
    if (name === undefined) return undefined
    const asset =
      path === FAVICON_PATH ? plainAsset(name, ONE_DAY) : compressedAsset(name, IMMUTABLE)
    this.#read.set(path, asset)
    return asset
  }

  get page(): Asset {
    return (this.#page ??= plainAsset('index.html', REVALIDATE))
  }

  #nameAt(path: string): string | undefined {
    this.#names ??= new Map(readManifest().map((name) => [`${UI_PATH}/${name}`, name]))
    return this.#names.get(path)
  }
}

function readManifest(): readonly string[] {
  const { files } = JSON.parse(readAsset('manifest.json').toString()) as { files: string[] }
  return files
}

function plainAsset(name: string, cacheControl: string): Asset {
  const content = readAsset(name)
  const tag = `"${createHash('sha256').update(content).digest('base64url')}"`
  const type = TYPES[name.slice(name.lastIndexOf('.') + 1)]!
  return { type, cacheControl, tag, content, compressed: {} }
}

function compressedAsset(name: string, cacheControl: string): Asset {
  const compressed = { br: readAsset(`${name}.br`), gzip: readAsset(`${name}.gz`) }
  return { ...plainAsset(name, cacheControl), compressed }
}

function readAsset(name: string): Buffer {
  return readFileSync(new URL(name, FOLDER))
}
