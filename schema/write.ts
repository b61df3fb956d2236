// Writes schema/config.json and the tables of docs/configuration.md from the shapes.
//   npm run schema

import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { buildSchemaDefinitions, formatConfigSchema } from '../lib/config/json-schema.ts'
import { withTables } from './tables.ts'

/** A path in the repository; this file runs from dist/schema/. */
const root = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url))

writeFileSync(root('schema/config.json'), formatConfigSchema())
const docs = root('docs/configuration.md')
writeFileSync(docs, withTables(readFileSync(docs, 'utf8'), buildSchemaDefinitions()))
