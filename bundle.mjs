// Bundles a program with all it imports, with tables that map its lines to our TypeScript, and with the code that V8
// compiles of it when it runs: hundreds of modules one by one take three times as long to start.
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { SourceMap } from 'node:module'
import { createServer } from 'node:net'
import { relative, resolve } from 'node:path'
import { build } from 'esbuild'
import { licensesOf } from './bundle-licenses.mjs'

/** The last mapping of a line, whatever comes before it. */
const LAST_COLUMN = 1_000_000
const WARM_MS = 20_000

/** What V8 compiled is kept under the bundle's mark: V8 itself would take it for any text of the same length. */
const UNMARKED = '0'.repeat(16)
const markOf = (code) => createHash('sha256').update(code).digest('hex').slice(0, UNMARKED.length)

/** What most start with: a listener, a route and a request. */
const configOf = (port) => `
gateways: { default: { port: ${port}, address: 127.0.0.1 } }
routes: [{ policies: { directResponse: { status: 200, body: hi } } }]
`

/** Modules ask where they are through import.meta; in a bundle, metaOf answers for each of them. */
const places = {
  name: 'places',
  setup: (bundler) =>
    bundler.onLoad({ filter: /\.ts$/ }, ({ path }) => {
      const text = readFileSync(path, 'utf8')
      const built = JSON.stringify(relative('.', path).replace(/\.ts$/, '.js'))
      return { contents: text.replaceAll('import.meta.', `metaOf(${built}).`), loader: 'ts' }
    }),
}

export async function bundle(program, out) {
  const file = `${out}/bin/${program}.bundle.js`
  const { outputFiles, metafile } = await build({
    entryPoints: [`bin/${program}.ts`],
    outfile: file,
    bundle: true,
    write: false,
    platform: 'node',
    format: 'cjs',
    target: 'node20.18',
    metafile: true,
    sourcemap: 'linked',
    sourcesContent: false,
    banner: { js: `(function (require, metaOf) { // ${UNMARKED}` },
    footer: { js: '})' },
    plugins: [places],
    logLevel: 'warning',
  })
  const [map, code] = ['.js.map', '.js'].map(
    (end) => outputFiles.find(({ path }) => path.endsWith(end)).text,
  )
  writeFileSync(file, code.replace(UNMARKED, markOf(code)))
  writeFileSync(`${file}.map`, map)
  writeFileSync(`${out}/bin/THIRD-PARTY-NOTICES.txt`, licensesOf(Object.keys(metafile.inputs)))
  writeFileSync(`${file}.places.json`, JSON.stringify(tableOf(code, JSON.parse(map), out)))
  await warm(`${out}/bin/${program}.js`)
}

/** Runs it once, so that V8 has compiled what a start needs. Where that cannot be, a start takes longer. */
async function warm(program) {
  const [port, admin] = [await freePort(), await freePort()]
  const words = ['--import', './keep-compiled.mjs', program, '-c', configOf(port)]
  const child = spawn(process.execPath, words, {
    env: {
      ...process.env,
      ADMIN_ADDR: `127.0.0.1:${admin}`,
      STATS_ADDR: 'off',
      READINESS_ADDR: 'off',
    },
    stdio: ['ignore', 'pipe', 'inherit'],
    timeout: WARM_MS,
  })
  let text = ''
  child.stdout.setEncoding('utf8').on('data', async (more) => {
    text += more
    if (!text.includes('started bind')) return
    await fetch(`http://127.0.0.1:${port}/`).catch(() => {})
    child.kill()
  })
  await once(child, 'close')
}

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address()
  server.close()
  return port
}

/** Node takes most of a second to read the map of a bundle; this table takes some milliseconds. */
function tableOf(code, payload, out) {
  const map = new SourceMap(payload)
  const files = payload.sources.map((source) => {
    const path = resolve(out, 'bin', source)
    const at = path.lastIndexOf('node_modules/')
    return at < 0 ? relative('.', path) : path.slice(at)
  })
  const indexOf = new Map(payload.sources.map((source, index) => [source, index]))
  const names = {}
  // File and line of each line, one after the other; -1 is nowhere.
  const lines = code.split('\n').flatMap((text, line) => {
    const [head, name] = /^ *(?:async )?function\*? (\w+)/.exec(text) ?? []
    if (name !== undefined) {
      const written = map.findEntry(line, head.length - name.length).name
      if (written !== undefined && written !== name) names[name] = written
    }
    const entry = map.findEntry(line, LAST_COLUMN)
    if (entry.generatedLine !== line) return [-1, 0]
    return [indexOf.get(entry.originalSource) ?? -1, entry.originalLine + 1]
  })
  return { files, names, lines }
}
