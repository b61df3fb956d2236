// The built files of the page, each read at its first request. Only names in the manifest are served, so a request cannot
// select another file.

import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { FAVICON_PATH, UI_PATH } from '../../core/well-known-paths.ts'

export type ContentEncoding = 'br' | 'gzip'

export interface Asset {
  readonly type: string
  readonly cacheControl: string
  /** A compressed form has its own. */
  readonly etag: string
  readonly content: Buffer
  readonly compressed: Readonly<Partial<Record<ContentEncoding, Buffer>>>
}

/** Relative to this module; the build keeps this layout. */
const FOLDER = new URL('../../page/assets/', import.meta.url)

/** The content of a file with a hash in its name never changes. */
const IMMUTABLE = 'public, max-age=31536000, immutable'
const REVALIDATE = 'no-cache'
const ONE_DAY = 'public, max-age=86400'

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
  html: 'text/html; charset=utf-8',
  ico: 'image/x-icon',
}

export class Assets {
  #nameByPath: ReadonlyMap<string, string> | null = null
  readonly #loaded = new Map<string, Asset>()
  #page: Asset | null = null

  find(path: string): Asset | undefined {
    const loaded = this.#loaded.get(path)
    if (loaded !== undefined) return loaded
    const name = path === FAVICON_PATH ? 'favicon.ico' : this.#nameAt(path)
    if (name === undefined) return undefined
    const asset =
      path === FAVICON_PATH ? loadPlainAsset(name, ONE_DAY) : loadCompressedAsset(name, IMMUTABLE)
    this.#loaded.set(path, asset)
    return asset
  }

  get page(): Asset {
    return (this.#page ??= loadPlainAsset('index.html', REVALIDATE))
  }

  #nameAt(path: string): string | undefined {
    this.#nameByPath ??= new Map(readManifest().map((name) => [`${UI_PATH}/${name}`, name]))
    return this.#nameByPath.get(path)
  }
}

function readManifest(): readonly string[] {
  const { files } = JSON.parse(readAsset('manifest.json').toString()) as { files: string[] }
  return files
}

function loadPlainAsset(name: string, cacheControl: string): Asset {
  const content = readAsset(name)
  const tag = `"${createHash('sha256').update(content).digest('base64url')}"`
  const type = CONTENT_TYPES[name.slice(name.lastIndexOf('.') + 1)]!
  return { type, cacheControl, etag: tag, content, compressed: {} }
}

function loadCompressedAsset(name: string, cacheControl: string): Asset {
  const compressed = { br: readAsset(`${name}.br`), gzip: readAsset(`${name}.gz`) }
  return { ...loadPlainAsset(name, cacheControl), compressed }
}

function readAsset(name: string): Buffer {
  return readFileSync(new URL(name, FOLDER))
}
