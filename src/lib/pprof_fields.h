// SPDX-License-Identifier: MIT
//
// Field numbers of pprof's profile.proto, by message: for the writer of the library, and for the
// reader and the writer of the tools.

#ifndef OURO_PPROF_FIELDS_H
#define OURO_PPROF_FIELDS_H

enum {
    PROFILE_SAMPLE_TYPE = 1,
    PROFILE_SAMPLE = 2,
    PROFILE_MAPPING = 3,
    PROFILE_LOCATION = 4,
    PROFILE_FUNCTION = 5,
    PROFILE_STRING = 6,
    PROFILE_TIME = 9,
    PROFILE_DURATION = 10,
    PROFILE_COMMENT = 13,
    PROFILE_DEFAULT_TYPE = 14,
    PROFILE_FIELDS = 15, // the highest is 14; 15 is documentation
    TYPE_NAME = 1,
    TYPE_UNIT = 2,
    SAMPLE_LOCATIONS = 1,
    SAMPLE_VALUES = 2,
    SAMPLE_LABEL = 3,
    LABEL_KEY = 1,
    LABEL_TEXT = 2,
    LABEL_NUMBER = 3,
    LABEL_UNIT = 4,
    MAPPING_ID = 1,
    MAPPING_FILE = 5,
    MAPPING_HAS_FUNCTIONS = 7,
    MAPPING_HAS_FILES = 8,
    MAPPING_HAS_LINES = 9,
    LOCATION_ID = 1,
    LOCATION_MAPPING = 2,
    LOCATION_ADDRESS = 3,
    LOCATION_LINE = 4,
    LINE_FUNCTION = 1,
    LINE_LINE = 2,
    LINE_COLUMN = 3,
    FUNCTION_ID = 1,
    FUNCTION_NAME = 2,
    FUNCTION_SYSTEM_NAME = 3,
    FUNCTION_FILE = 4,
    FUNCTION_START_LINE = 5
};

// Ours: what is kept of the slices of a lane. Others skip it.
enum {
    PROFILE_SLICES = 1000,
    SLICES_LANE = 1,
    SLICES_NAME = 2,
    SLICES_BY = 3,
    SLICES_COUNT = 4,
    SLICES_SLOWEST = 5,
    SLICES_OUTSIDE = 6,
    SLICES_OPEN = 7,
    SLICES_TABLE_ROWS = 8,
    SLICES_DURATIONS = 9,
    SLICES_VALUES_OF = 10,
    SLICES_HEAT = 11,
    SLICES_HEAT_START = 12,
    SLICES_HEAT_STEP = 13,
    SLICES_KEPT = 14,
    KEPT_SLICE = 1,
    KEPT_TOTALS = 2,
    KEPT_REST = 3
};

#endif
