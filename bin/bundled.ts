// Replaces a program in dist/bin: runs its bundle with the code cache that V8 wrote during the build. With another
// version of Node or other flags, V8 rejects the cache and compiles the bundle again.

import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Script, constants } from 'node:vm'
import { crc32 } from 'node:zlib'

interface Meta {
  readonly url: string
  readonly dirname: string
  readonly resolve: (name: string) => string
}

type Program = (require: NodeJS.Require, metaOf: (path: string) => Meta) => void

const file = new URL(import.meta.url.replace(/\.main\.js$/, '.bundle.js'))

/** The `import.meta` that a module of the bundle would have if it were loaded from dist/, by its path there. */
function metaOf(path: string): Meta {
  const url = new URL(`../${path}`, import.meta.url)
  const resolve = (name: string): string => import.meta.resolve(name)
  return { url: url.href, dirname: dirname(fileURLToPath(url)), resolve }
}

/** V8 does not check the cache, and wrong bytes would crash the process: its last 4 bytes are a checksum. */
function readCodeCache(code: string): Buffer | undefined {
  const [, mark = ''] = /\{ \/\/ (\w+)/.exec(code) ?? []
  try {
    const bytes = readFileSync(new URL(`${file.href}.${mark}.cache`))
    const cache = bytes.subarray(0, -4)
    return crc32(cache) === bytes.readUInt32LE(cache.length) ? cache : undefined
  } catch {
    return undefined
  }
}

// The bundle is ASCII, which V8 stores with one byte per character.
const code = readFileSync(file, 'latin1')
const cachedData = readCodeCache(code)
const script = new Script(code, {
  filename: file.href,
  ...(cachedData === undefined ? {} : { cachedData }),
  importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
})
const program = script.runInThisContext() as Program
program(createRequire(import.meta.url), metaOf)
