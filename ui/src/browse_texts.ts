// The parts of texts.ts about the pages to browse: glossary, tags, people, platforms, products.

import { glossaryTexts } from "./glossary_texts.ts";
import { peopleTexts } from "./people_texts.ts";
import { platformTexts } from "./platform_texts.ts";
import { productTexts } from "./product_texts.ts";
import { tagTexts } from "./tag_texts.ts";

export const browseTexts = {
  browse: "Browse",
  glossary: glossaryTexts,
  tags: tagTexts,
  people: peopleTexts,
  platforms: platformTexts,
  products: productTexts,
};
