// The files the page is made of: read once, when the first is asked for, and served by names that were fixed then. Nothing
// of a request ever becomes the name of a file.

import { createHash } from 'node:crypto'
import { readFileSync, readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { UI_PATH } from '../../core/well-known-paths.ts'

export interface Asset {
  readonly type: string
  readonly tag: string
  readonly content: Buffer
}

export interface PageAsset extends Asset {
  /** The inline import map, as a source of scripts in a content security policy. */
  readonly inlineHash: string
}

/** Compiled beside this file, by the folder they are served from. */
const SERVED_FOLDERS: Readonly<Record<string, string>> = {
  [`${UI_PATH}/lib/ui/page/`]: '../../ui/page/',
  [`${UI_PATH}/lib/trace-view/`]: '../../trace-view/',
}

/** By the names in the page's import map. */
const VENDORED: Readonly<Record<string, string>> = {
  [`${UI_PATH}/vendor/preact.js`]: 'preact',
  [`${UI_PATH}/vendor/hooks.js`]: 'preact/hooks',
  [`${UI_PATH}/vendor/htm.js`]: 'htm',
}

const TYPES: Readonly<Record<string, string>> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  html: 'text/html; charset=utf-8',
}

const SERVED = /\.(?:js|css)$/
const PAGE = '../../ui/page/index.html'
const IMPORT_MAP = /<script type="importmap">([^]*?)<\/script>/

/** It would only make a browser's tools ask for more. */
const MAP_NOTE = /\n\/\/# sourceMappingURL=.*\s*$/

export class Assets {
  #files: ReadonlyMap<string, URL> | null = null
  readonly #read = new Map<string, Asset>()
  #page: PageAsset | null = null

  find(path: string): Asset | undefined {
    const known = this.#read.get(path)
    if (known !== undefined) return known
    this.#files ??= listAssetFiles()
    const file = this.#files.get(path)
    if (file === undefined) return undefined
    const asset = createAsset(readFileSync(file, 'utf8').replace(MAP_NOTE, '\n'), path)
    this.#read.set(path, asset)
    return asset
  }

  get page(): PageAsset {
    return (this.#page ??= createPageAsset(readFileSync(new URL(PAGE, import.meta.url), 'utf8')))
  }
}

function listAssetFiles(): Map<string, URL> {
  const files = new Map<string, URL>()
  for (const [at, folder] of Object.entries(SERVED_FOLDERS)) {
    const url = new URL(folder, import.meta.url)
    for (const name of readdirSync(fileURLToPath(url), { recursive: true, encoding: 'utf8' }))
      if (SERVED.test(name)) files.set(at + name.replaceAll('\\', '/'), new URL(name, url))
  }
  for (const [at, name] of Object.entries(VENDORED))
    files.set(at, new URL(import.meta.resolve(name)))
  return files
}

function createAsset(text: string, name: string): Asset {
  const content = Buffer.from(text)
  const type = TYPES[name.slice(name.lastIndexOf('.') + 1)]!
  return { type, tag: `"${hashOf(content, 'base64url')}"`, content }
}

function createPageAsset(text: string): PageAsset {
  const [, map = ''] = IMPORT_MAP.exec(text) ?? []
  return { ...createAsset(text, PAGE), inlineHash: `'sha256-${hashOf(map, 'base64')}'` }
}

function hashOf(content: Buffer | string, form: 'base64' | 'base64url'): string {
  return createHash('sha256').update(content).digest(form)
}
